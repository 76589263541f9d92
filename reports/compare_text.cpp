// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/compare.hpp"
#include "reports/compare_words.hpp"

namespace gdr2 {
namespace {

constexpr std::size_t kMostRows = 20;  ///< of a list that is not asked for in full

std::string error_row(const ErrorChange& e) {
  const bool clear = e.is_clear();
  const auto* word = !clear ? "same" : e.log_ratio > 0 ? "worse" : "better";
  return fmt::format(
      "  {:<7}  {:<5}  {:<16}  {:<16}  {:.3f}x [{:.3f}, {:.3f}]  {:<6}  {:>5} pairs, {} "
      "elements{}\n",
      e.tensor, e.dtype, e.recipe, e.kernel, e.ratio(), e.low(), e.high(), word, e.pairs,
      e.elements, e.is_regression() ? "  REGRESSION" : "");
}

template <class Items, class Row>
std::string list(const char* title, const Items& items, bool all, Row row) {
  if (items.empty()) return "";
  auto text = fmt::format("\n{}: {}\n", title, items.size());
  const auto shown = all ? items.size() : std::min(items.size(), kMostRows);
  for (std::size_t i = 0; i < shown; ++i) text += row(items[i]);
  if (shown < items.size())
    text += fmt::format("  ... and {} more (--all)\n", items.size() - shown);
  return text;
}

std::string change_row(const StateChange& change) {
  return fmt::format("  {} -> {}  kernel={} {}{}{}\n    {}\n", to_string(change.old_state),
                     to_string(change.new_state), change.kernel, change.line,
                     change.reason.empty() ? "" : "\n    ", change.reason, change.repro);
}

/// The groups to show: all, or regressions and what changed clearly.
std::vector<ErrorChange> shown_errors(const Comparison& comparison, bool all) {
  auto errors = comparison.errors;
  if (!all)
    std::erase_if(errors, [](const auto& e) {
      return !e.is_regression() &&
             !(std::fabs(e.log_ratio) > std::log(kGate.ratio) && e.is_clear());
    });
  return errors;
}

}  // namespace

std::string comparison_text(const Comparison& c, bool all) {
  auto text =
      fmt::format("{} cases in both{}, {} only in the new report, {} only in the old one\n",
                  c.paired, c.same_seeds ? "" : ", with other seeds", c.added, c.missing.size());
  text += fault_rows(c.faults);
  text += list("Broken", c.broken, all, change_row);
  text += list("New cases that did not pass", c.new_failures, all, change_row);
  text += list("Failing in both", c.still_failing, all, change_row);
  text += list("Fixed", c.fixed, true, change_row);
  text += list("Missing: ran in the old report alone", c.missing, all,
               [](const auto& name) { return "  " + name + "\n"; });
  const auto errors = shown_errors(c, all);
  text +=
      list("Error, new over old: rms z with its 95 % confidence interval", errors, all, error_row);
  if (errors.empty() && c.paired > 0)
    text +=
        fmt::format("\nError: no clear change in {} groups of kernel, dtype, tensor and recipe\n",
                    c.errors.size());
  text += list("Time of judging, for information", c.times, true, [](const TimeChange& t) {
    return fmt::format("  {:<16}  {:.1f} s -> {:.1f} s over {} cases\n", t.kernel, t.old_seconds,
                       t.new_seconds, t.pairs);
  });
  const auto regressions =
      std::ranges::count_if(c.errors, [](const auto& e) { return e.is_regression(); });
  text += fmt::format("\n{}: {} broken, {} new failures, {} missing, {} errors that grew\n",
                      outcome_of(c.exit_code()), c.broken.size(), c.new_failures.size(),
                      c.missing.size(), regressions);
  return text;
}

}  // namespace gdr2
