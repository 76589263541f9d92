// SPDX-License-Identifier: Apache-2.0
#include "reports/waivers.hpp"

#include <fmt/chrono.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <regex>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::size_t begin = 0;
  for (auto bar = line.find('|'); fields.size() < 3 && bar != std::string::npos;
       bar = line.find('|', begin)) {
    fields.push_back(trimmed(line.substr(begin, bar - begin)));
    begin = bar + 1;
  }
  fields.push_back(trimmed(line.substr(begin)));  // a reason may hold bars
  return fields;
}

bool is_day(const std::string& text) {
  if (!std::regex_match(text, std::regex("[0-9]{4}-[0-9]{2}-[0-9]{2}"))) return false;
  const auto part = [&](int at, int length) { return std::stoi(text.substr(at, length)); };
  return std::chrono::year_month_day(std::chrono::year(part(0, 4)), std::chrono::month(part(5, 2)),
                                     std::chrono::day(part(8, 2)))
      .ok();
}

Waiver parse_waiver(const std::string& line, const std::string& place) {
  const auto fields = fields_of(line);
  if (fields.size() != 4) fail("{}: not of the form UNTIL | ISSUE | PATTERN | REASON", place);
  const Waiver waiver{fields[0], fields[1], fields[2], fields[3], place};
  if (!is_day(waiver.until)) fail("{}: until: '{}' is not a day, YYYY-MM-DD", place, waiver.until);
  if (!std::regex_match(waiver.issue, std::regex("#[0-9]+")))
    fail("{}: issue: '{}' is not of the form #NUMBER", place, waiver.issue);
  if (waiver.pattern.empty()) fail("{}: pattern: empty", place);
  if (waiver.reason.empty()) fail("{}: reason: empty", place);
  return waiver;
}

void refuse(CaseRecord& record, const std::string& reason) {
  record.verdict.state = State::kFailed;
  record.verdict.leg = "waiver";
  record.verdict.reason = reason;
}

}  // namespace

std::vector<Waiver> read_waivers(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file)) fail("{}: cannot read", file.string());
  std::vector<Waiver> waivers;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number)
    if (!trimmed(line).empty() && !line.starts_with('#'))
      waivers.push_back(parse_waiver(line, fmt::format("{}:{}", file.string(), number)));
  return waivers;
}

void apply_waivers(const std::vector<Waiver>& waivers, const std::string& today,
                   CaseRecord& record) {
  const auto text = fmt::format("kernel={} {}", record.kernel, record.line);
  const auto waiver = std::ranges::find_if(
      waivers, [&](const auto& w) { return fnmatch(w.pattern.c_str(), text.c_str(), 0) == 0; });
  if (waiver == waivers.end() || record.verdict.state == State::kSkipped) return;
  const auto said = fmt::format("{} ({}, {})", waiver->reason, waiver->issue, waiver->place);
  if (waiver->until < today)
    refuse(record, fmt::format("the waiver expired on {}: {}{}{}", waiver->until, said,
                               record.verdict.reason.empty() ? "" : "; ", record.verdict.reason));
  else if (record.verdict.state == State::kPassed)
    refuse(record, fmt::format("passed, although it is waived: {}. Take the waiver out", said));
  else
    record.waiver = said;
}

std::string today() {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(now));
}

}  // namespace gdr2
