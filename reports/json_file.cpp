// SPDX-License-Identifier: Apache-2.0
#include "reports/json_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "reference/error.hpp"

namespace gdr2 {

using Json = nlohmann::ordered_json;

std::string read_text(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    fail("{}: cannot read: {}", path.string(), errno != 0 ? std::strerror(errno) : "empty");
  return text.str();
}

Json parse_json(const std::string& text, const std::string& where) try {
  return Json::parse(text);
} catch (const Json::parse_error& e) {
  fail("{}: not JSON: at byte {}", where, e.byte);
}

Json read_json(const std::filesystem::path& path) {
  return parse_json(read_text(path), path.string());
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void must_be_writable(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) fail("{}: is a directory", path.string());
  if (!std::ofstream(path, std::ios::app))
    fail("{}: cannot write: {}", path.string(), std::strerror(errno));
}

void write_whole(const std::filesystem::path& path, const std::string& text) {
  auto temporary = path;
  temporary += ".tmp";
  std::ofstream file(temporary, std::ios::trunc);
  file << text << std::flush;
  file.close();
  if (!file) fail("{}: cannot write: {}", path.string(), std::strerror(errno));
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) fail("{}: cannot write: {}", path.string(), error.message());
}

}  // namespace gdr2
