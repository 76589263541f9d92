// SPDX-License-Identifier: Apache-2.0
#include "reports/study_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "reference/error.hpp"
#include "reports/record_json.hpp"

namespace gdr2 {

using Json = nlohmann::ordered_json;

void write_study(const std::filesystem::path& path, const RunRecord& head,
                 const std::string& section, const Json& content) {
  auto json = head_to_json(head);
  json["cases"] = Json::array();
  json[section] = content;
  auto temporary = path;
  temporary += ".tmp";
  std::ofstream file(temporary, std::ios::trunc);
  file << json.dump(1, ' ', false, Json::error_handler_t::replace) << '\n' << std::flush;
  file.close();
  if (!file) fail("{}: cannot write: {}", path.string(), std::strerror(errno));
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) fail("{}: cannot write: {}", path.string(), error.message());
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
