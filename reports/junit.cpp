// SPDX-License-Identifier: Apache-2.0
#include "reports/junit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "reports/console_text.hpp"

namespace gdr2 {
namespace {

/// Text for an attribute, or, with newlines as they are, for an element. Control characters that XML 1.0
/// cannot hold become '?'.
std::string escaped(const std::string& text, const char* newline = "&#10;") {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\n': out += newline; break;
      case '\t': out += ' '; break;
      default: out += std::uint8_t(c) < 0x20 ? '?' : c;
    }
  return out;
}

enum class Outcome { kPassed, kFailure, kError, kSkipped };

Outcome outcome_of(const CaseRecord& record) {
  switch (record.verdict.state) {
    case State::kPassed: return Outcome::kPassed;
    case State::kSkipped: return Outcome::kSkipped;
    case State::kFailed:
    case State::kMistrusted: return record.waiver.empty() ? Outcome::kFailure : Outcome::kSkipped;
    default: return record.waiver.empty() ? Outcome::kError : Outcome::kSkipped;
  }
}

std::string reason_of(const CaseRecord& record) {
  const auto& verdict = record.verdict;
  auto text = fmt::format("{}{}{}", verdict.leg, verdict.leg.empty() ? "" : ": ", verdict.reason);
  if (!record.waiver.empty()) text = fmt::format("waived: {}; {}", record.waiver, text);
  return text;
}

std::string case_xml(const CaseRecord& record) {
  const auto name = record.line + (record.note.empty() ? "" : ", " + record.note);
  auto text = fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\" time=\"{:.3f}\"",
                          escaped(record.kernel), record.dtype, escaped(name), record.seconds);
  const auto reason = escaped(reason_of(record));
  switch (outcome_of(record)) {
    case Outcome::kPassed: return text + "/>\n";
    case Outcome::kSkipped:
      return text + fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", reason);
    default: break;
  }
  const auto* element = outcome_of(record) == Outcome::kError ? "error" : "failure";
  return text +
         fmt::format(">\n      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n    </testcase>\n",
                     element, to_string(record.verdict.state), reason,
                     escaped(details(record, false, Color::kNever), "\n"));
}

struct Suite {
  std::string kernel, cases;
  double seconds = 0;
  std::int64_t count = 0, failures = 0, errors = 0, skipped = 0;

  void add(const CaseRecord& record) {
    cases += case_xml(record);
    seconds += record.seconds;
    ++count;
    const auto outcome = outcome_of(record);
    failures += outcome == Outcome::kFailure;
    errors += outcome == Outcome::kError;
    skipped += outcome == Outcome::kSkipped;
  }
};

}  // namespace

std::string junit_xml(const RunRecord& run) {
  std::vector<Suite> suites;
  for (const auto& record : run.cases) {
    auto suite = std::ranges::find(suites, record.kernel, &Suite::kernel);
    if (suite == suites.end()) suite = suites.insert(suite, {.kernel = record.kernel});
    suite->add(record);
  }
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gdr2\">\n";
  for (const auto& suite : suites)
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"{:.3f}\" timestamp=\"{}\">\n{}  </testsuite>\n",
        escaped(suite.kernel), suite.count, suite.failures, suite.errors, suite.skipped,
        suite.seconds, run.started.substr(0, 19), suite.cases);
  return text + "</testsuites>\n";
}

}  // namespace gdr2
