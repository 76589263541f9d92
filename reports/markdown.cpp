// SPDX-License-Identifier: Apache-2.0
#include "reports/markdown.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/accuracy.hpp"

namespace gdr2 {
namespace {

/// Rows of a part are added while they fit into what is left for it; the rest is counted.
class Budget {
 public:
  explicit Budget(std::size_t bytes) : left_(bytes) {}
  void add(std::string& text, const std::string& row) {
    if (full_ || row.size() > left_) {
      full_ = true, ++left_out_;
      return;
    }
    left_ -= row.size();
    text += row;
  }
  std::int64_t left_out() const { return left_out_; }

 private:
  std::size_t left_;
  bool full_ = false;
  std::int64_t left_out_ = 0;
};

constexpr std::size_t kReasonLength = 300;

/// One cell of a table: no newline, no bar, not too long.
std::string cell(std::string text, std::size_t length = kReasonLength) {
  if (text.size() > length) text = text.substr(0, length) + " ...";
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

std::string code(const std::string& text) {
  std::string plain = cell(text, 1000);
  std::ranges::replace(plain, '`', '\'');
  return "`" + plain + "`";
}

std::string head(const RunRecord& run) {
  const bool good = exit_code(run, false) == 0;
  const auto fact = [&](const char* key) {
    const auto found = run.environment.find(key);
    return found == run.environment.end() ? std::string() : found->second;
  };
  auto text = fmt::format("# gdr2: {}\n\n{} cases in {:.1f} s: {}.\n",
                          good ? "passed" : "not passed", run.cases.size(), run.seconds,
                          run.cases.empty() ? "nothing ran" : state_counts(run));
  if (!run.complete)
    text += fmt::format("\n**Interrupted: {} of {} cases done.**\n", run.cases.size(), run.planned);
  text += fmt::format("\n{} on {}, {}; sources {}{}, {}.\n",
                      code(fmt::format("{}", fmt::join(run.argv, " "))), cell(fact("cpu")),
                      fact("device").empty() ? "no GPU" : cell(fact("device")),
                      run.git_sha.substr(0, 10), run.git_dirty ? " (modified)" : "", run.started);
  return text;
}

std::string case_rows(const RunRecord& run, const char* title, std::size_t bytes,
                      bool (*wanted)(const CaseRecord&)) {
  std::string rows;
  Budget budget(bytes);
  for (const auto& record : run.cases)
    if (wanted(record))
      budget.add(rows,
                 fmt::format("| {} | {} | {} | {} |\n", to_string(record.verdict.state),
                             code(record.repro), cell(record.verdict.reason), cell(record.waiver)));
  if (rows.empty()) return "";
  auto text = fmt::format("\n## {}\n\n| state | command | reason | waiver |\n|---|---|---|---|\n{}",
                          title, rows);
  if (budget.left_out() > 0) text += fmt::format("\n... and {} more.\n", budget.left_out());
  return text;
}

std::string accuracy_table(const RunRecord& run, std::size_t bytes) {
  std::string rows;
  Budget budget(bytes);
  for (const auto& r : accuracy_of(run))
    budget.add(rows, fmt::format("| {} | {} | {} | {} | {} | {} | {:.2f} | {:.1e} | {:.3g} |\n",
                                 cell(r.kernel), r.dtype, r.tensor, r.cases, r.bad,
                                 z_text(r.max_z, r.has_nan, r.all_finite), r.pooled_z, r.rel_norm,
                                 r.max_ulp));
  if (rows.empty()) return "";
  auto text =
      "\n## Accuracy\n\nLargest of any case; rms z over all elements. z is the error in standard "
      "deviations "
      "of what the kernel's contract explains; * from the kernel's own chunk states.\n\n"
      "| kernel | dtype | tensor | cases | bad | max z | rms z | rel norm | max ulp |\n"
      "|---|---|---|--:|--:|--:|--:|--:|--:|\n" +
      rows;
  if (budget.left_out() > 0) text += fmt::format("\n... and {} more rows.\n", budget.left_out());
  return text;
}

}  // namespace

std::string markdown_summary(const RunRecord& run) {
  constexpr std::size_t kPart = kMarkdownLimit / 5;
  const auto bad = [](const CaseRecord& c) { return is_bad(c); };
  const auto waived = [](const CaseRecord& c) { return !c.waiver.empty(); };
  const auto skipped = [](const CaseRecord& c) { return c.verdict.state == State::kSkipped; };
  auto text = head(run) + case_rows(run, "Not passed", kPart * 2, bad) +
              case_rows(run, "Waived", kPart / 2, waived) + accuracy_table(run, kPart) +
              case_rows(run, "Skipped", kPart / 2, skipped);
  return text;
}

}  // namespace gdr2
