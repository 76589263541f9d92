// SPDX-License-Identifier: Apache-2.0
#include "reports/report_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "reference/error.hpp"
#include "reports/json_file.hpp"
#include "reports/record_json.hpp"

namespace gdr2 {
namespace {

using Json = nlohmann::ordered_json;

std::filesystem::path with_suffix(std::filesystem::path path, const char* suffix) {
  return path += suffix;
}

/// Only a line that ends is whole.
RunRecord read_partial(const std::string& text, const std::string& file) {
  RunRecord run;
  std::size_t begin = 0;
  for (int number = 1;; ++number) {
    const auto end = text.find('\n', begin);
    if (end == std::string::npos) break;
    const auto where = fmt::format("{}: line {}", file, number);
    const auto json = parse_json(text.substr(begin, end - begin), where);
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

}  // namespace

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
  const auto head = dump_json(head_to_json(run), -1);
  if (resumed_.empty()) return append(head);
  auto text = head + '\n';
  for (const auto& record : resumed_) text += dump_json(case_to_json(record), -1) + '\n';
  partial_.close();
  write_whole(partial_path_, text);
  partial_.open(partial_path_, std::ios::app);
  std::error_code
      kept;  // the report of a run that was interrupted: its cases stand in the partial file
  std::filesystem::remove(path_, kept);
}

void JsonSink::do_case_finished(const CaseRecord& record) {
  append(dump_json(case_to_json(record), -1));
}

void JsonSink::do_end(const RunRecord& run) {
  write_whole(path_, report_text(run));
  partial_.close();
  std::error_code kept;  // a partial file that stays beside the report does no harm
  std::filesystem::remove(partial_path_, kept);
}

std::string report_text(const RunRecord& run) {
  auto text = dump_json(head_to_json(run), 1);
  text.erase(text.rfind('\n'));  // the brace that closes the head
  text += ",\n \"cases\": [";
  for (const auto& record : run.cases)
    text += (&record == run.cases.data() ? "\n" : ",\n") + dump_json(case_to_json(record), -1);
  return text + "\n ]\n}\n";
}

RunRecord read_report(const std::filesystem::path& path) {
  const auto name = path.string();
  const auto text = read_text(path);
  if (is_partial(text)) return read_partial(text, name);
  const auto json = parse_json(text, name);
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
