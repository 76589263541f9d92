// SPDX-License-Identifier: Apache-2.0
#include "reports/study_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "reference/error.hpp"
#include "reports/record_json.hpp"
#include "reports/report_file.hpp"

namespace gdr2 {

using Json = nlohmann::ordered_json;

void write_study(const std::filesystem::path& path, const RunRecord& head,
                 const std::string& section, const Json& content) {
  auto json = head_to_json(head);
  json["cases"] = Json::array();
  json[section] = content;
  write_whole(path, json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
}

namespace {

Json read_json(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path);
  if (!file) fail("{}: cannot read: {}", path.string(), std::strerror(errno));
  auto json = Json::parse(file, nullptr, false);
  if (json.is_discarded()) fail("{}: not JSON", path.string());
  head_from_json(JsonField(json, path.string()));  // its schema number is ours
  return json;
}

}  // namespace

Json read_study(const std::filesystem::path& path, const std::string& section) {
  const auto json = read_json(path);
  if (!json.contains(section)) fail("{}: no section '{}': not such a report", path.string(), section);
  return json[section];
}

std::map<std::string, Json> read_sections(const std::filesystem::path& path,
                                          const std::vector<std::string>& names) {
  const auto json = read_json(path);
  std::map<std::string, Json> sections;
  for (const auto& name : names)
    if (json.contains(name)) sections[name] = json[name];
  return sections;
}

}  // namespace gdr2
