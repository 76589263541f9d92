// SPDX-License-Identifier: Apache-2.0
#include "reports/study_file.hpp"

#include "reference/error.hpp"
#include "reports/json_file.hpp"
#include "reports/record_json.hpp"

namespace gdr2 {

using Json = nlohmann::ordered_json;

void write_study(const std::filesystem::path& path, const RunRecord& head,
                 const std::string& section, const Json& content) {
  auto json = head_to_json(head);
  json["cases"] = Json::array();
  json[section] = content;
  write_whole(path, dump_json(json, 1) + '\n');
}

namespace {

/// Of a file whose schema number is ours.
Json read_report_json(const std::filesystem::path& path) {
  auto json = read_json(path);
  head_from_json(JsonField(json, path.string()));
  return json;
}

}  // namespace

Json read_study(const std::filesystem::path& path, const std::string& section) {
  const auto json = read_report_json(path);
  if (!json.contains(section))
    fail("{}: no section '{}': not such a report", path.string(), section);
  return json[section];
}

std::map<std::string, Json> read_sections(const std::filesystem::path& path,
                                          const std::vector<std::string>& names) {
  const auto json = read_report_json(path);
  std::map<std::string, Json> sections;
  for (const auto& name : names)
    if (json.contains(name)) sections[name] = json[name];
  return sections;
}

}  // namespace gdr2
