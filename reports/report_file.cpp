// SPDX-License-Identifier: Apache-2.0
#include "reports/report_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "reference/error.hpp"
#include "reports/record_json.hpp"

namespace gdr2 {
namespace {

using Json = nlohmann::ordered_json;

/// Bytes that are not UTF-8 (a path may hold any) are replaced, not thrown over.
std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::filesystem::path with_suffix(std::filesystem::path path, const char* suffix) {
  return path += suffix;
}

Json parse(const std::string& text, const std::string& where) try {
  return Json::parse(text);
} catch (const Json::parse_error& e) {
  fail("{}: not JSON: at byte {}", where, e.byte);
}

/// Only a line that ends is whole.
RunRecord read_partial(const std::string& text, const std::string& file) {
  RunRecord run;
  std::size_t begin = 0;
  for (int number = 1;; ++number) {
    const auto end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const auto where = fmt::format("{}: line {}", file, number);
    const auto json = parse(text.substr(begin, end - begin), where);
    if (number == 1)
      run = head_from_json({json, where});
    else
      run.cases.push_back(case_from_json({json, where}));
    begin = end + 1;
  }
  std::ranges::stable_sort(run.cases, {}, &CaseRecord::index);
  return run;
}

/// A partial report is lines of JSON, and the first of them is a head without cases.
bool is_partial(const std::string& text) {
  const auto end = text.find('\n');
  if (end == std::string::npos) return false;
  const auto first = text.substr(0, end);
  return Json::accept(first) && !Json::parse(first).contains("cases");
}

std::string read_text(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf()))
    fail("{}: cannot read: {}", path.string(), errno != 0 ? std::strerror(errno) : "empty");
  return text.str();
}

}  // namespace

void must_be_writable(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) fail("{}: is a directory", path.string());
  if (!std::ofstream(path, std::ios::app))
    fail("{}: cannot write: {}", path.string(), std::strerror(errno));
}

void write_whole(const std::filesystem::path& path, const std::string& text) {
  const auto temporary = with_suffix(path, ".tmp");
  std::ofstream file(temporary, std::ios::trunc);
  file << text << std::flush;
  file.close();
  if (!file) fail("{}: cannot write: {}", path.string(), std::strerror(errno));
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error) fail("{}: cannot write: {}", path.string(), error.message());
}

JsonSink::JsonSink(std::filesystem::path path, std::vector<CaseRecord> resumed)
    : path_(std::move(path)),
      partial_path_(with_suffix(path_, ".partial")),
      resumed_(std::move(resumed)) {
  if (std::filesystem::is_directory(path_)) fail("{}: is a directory", path_.string());
  const auto mode = resumed_.empty() ? std::ios::trunc : std::ios::app;
  partial_.open(partial_path_, mode);
  if (!partial_) fail("{}: cannot write: {}", path_.string(), std::strerror(errno));
  if (!resumed_.empty()) return;
  std::error_code error;
  std::filesystem::remove(path_, error);
  if (error) fail("{}: cannot replace: {}", path_.string(), error.message());
}

void JsonSink::append(const std::string& line) {
  partial_ << line << std::endl;
  if (!partial_) fail("{}: cannot write: {}", partial_path_.string(), std::strerror(errno));
}

/// The cases that a resumed run has are never on less than one file.
void JsonSink::do_begin(const RunRecord& run) {
  const auto head = dump(head_to_json(run), -1);
  if (resumed_.empty()) return append(head);
  auto text = head + '\n';
  for (const auto& record : resumed_) text += dump(case_to_json(record), -1) + '\n';
  partial_.close();
  write_whole(partial_path_, text);
  partial_.open(partial_path_, std::ios::app);
  std::error_code kept;  // the report of a run that was interrupted: its cases stand in the partial file
  std::filesystem::remove(path_, kept);
}

void JsonSink::do_case_finished(const CaseRecord& record) { append(dump(case_to_json(record), -1)); }

void JsonSink::do_end(const RunRecord& run) {
  write_whole(path_, report_text(run));
  partial_.close();
  std::error_code kept;  // a partial file that stays beside the report does no harm
  std::filesystem::remove(partial_path_, kept);
}

std::string report_text(const RunRecord& run) {
  auto text = dump(head_to_json(run), 1);
  text.erase(text.rfind('\n'));  // the brace that closes the head
  text += ",\n \"cases\": [";
  for (const auto& record : run.cases)
    text += (&record == run.cases.data() ? "\n" : ",\n") + dump(case_to_json(record), -1);
  return text + "\n ]\n}\n";
}

RunRecord read_report(const std::filesystem::path& path) {
  const auto name = path.string();
  const auto text = read_text(path);
  if (is_partial(text)) return read_partial(text, name);
  const auto json = parse(text, name);
  const JsonField field(json, name);
  auto run = head_from_json(field);
  for (const auto& record : field["cases"].elements()) {
    run.cases.push_back(case_from_json(record));
    if (!record.has("index")) run.cases.back().index = std::ssize(run.cases) - 1;  // schema 1
  }
  return run;
}

std::optional<RunRecord> read_unfinished(const std::filesystem::path& path) {
  for (const auto& candidate : {path, with_suffix(path, ".partial")})
    if (std::filesystem::exists(candidate) && std::filesystem::file_size(candidate) > 0)
      return read_report(candidate);
  return std::nullopt;
}

}  // namespace gdr2
