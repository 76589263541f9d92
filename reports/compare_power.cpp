// SPDX-License-Identifier: Apache-2.0
#include "reports/compare_power.hpp"

#include <fmt/format.h>

#include <map>

#include "reports/compare_words.hpp"

namespace gdr2 {
namespace {

std::map<std::string, const MutantRecord*> by_name(const PowerStudy& study) {
  std::map<std::string, const MutantRecord*> mutants;
  for (const auto& mutant : study.mutants) mutants[mutant.name] = &mutant;
  return mutants;
}

void expect_whole(const char* which, const PowerReport& report, PowerComparison& result) {
  if (report.study.mutants.empty() && report.study.perturbations.empty())
    result.faults.push_back(fmt::format("{} holds no fault and no perturbation", which));
  else if (!report.head.complete)
    result.faults.push_back(fmt::format("{} is not whole: the study was interrupted", which));
}

/// A fault that no case tells from the right kernel shows nothing of the judge, so one that was caught and
/// is equivalent now is lost.
void compare_mutants(const PowerStudy& before, const PowerStudy& after, PowerComparison& result) {
  const auto old_mutants = by_name(before), new_mutants = by_name(after);
  for (const auto& [name, now] : new_mutants) {
    const auto found = old_mutants.find(name);
    const auto old_state = found == old_mutants.end() ? "new" : found->second->state;
    if (found != old_mutants.end()) ++result.paired;
    const FaultChange change{name, now->what, old_state, now->state, now->reason};
    if ((old_state == "caught" && now->state != "caught") ||
        (old_state == "new" && now->state == "survived"))
      result.lost.push_back(change);
    else if (old_state == "survived" && now->state == "caught")
      result.won.push_back(change);
  }
  for (const auto& [name, mutant] : old_mutants)
    if (mutant->state != "equivalent" && !new_mutants.contains(name))
      result.missing.push_back("fault " + name);
}

void compare_perturbations(const PowerStudy& before, const PowerStudy& after,
                           PowerComparison& result) {
  for (const auto& [name, old_record] : before.perturbations) {
    const auto found = after.perturbations.find(name);
    if (found == after.perturbations.end()) {
      result.missing.push_back("perturbation " + name);
      continue;
    }
    ++result.paired;
    if (found->second.missed.size() > old_record.missed.size())
      result.weaker.push_back(fmt::format("{}: {} of {} were not rejected, before {} of {}; now {}",
                                          name, found->second.missed.size(), found->second.tried,
                                          old_record.missed.size(), old_record.tried,
                                          found->second.missed.back()));
  }
  for (const auto& [name, record] : after.perturbations)
    if (!before.perturbations.contains(name) && !record.missed.empty())
      result.weaker.push_back(fmt::format("{}: new, and {} of {} were not rejected", name,
                                          record.missed.size(), record.tried));
}

std::string change_rows(const char* title, const std::vector<FaultChange>& changes) {
  if (changes.empty()) return "";
  auto text = fmt::format("\n{}: {}\n", title, changes.size());
  for (const auto& c : changes)
    text += fmt::format("  {} -> {}  {}: {}{}{}\n", c.old_state, c.new_state, c.name, c.what,
                        c.reason.empty() ? "" : "\n    ", c.reason);
  return text;
}

}  // namespace

int PowerComparison::exit_code() const {
  if (paired == 0 && missing.empty()) return 3;
  return !lost.empty() || !missing.empty() || !weaker.empty() || new_alarms > old_alarms ||
                 !faults.empty()
             ? 1
             : 0;
}

PowerComparison compare(const PowerReport& old_report, const PowerReport& new_report) {
  const auto &before = old_report.study, &after = new_report.study;
  PowerComparison result{.old_score = total_score(before),
                         .new_score = total_score(after),
                         .old_alarms = before.right_alarms,
                         .new_alarms = after.right_alarms,
                         .old_right = before.right_cases,
                         .new_right = after.right_cases};
  expect_whole("the old study", old_report, result);
  expect_whole("the new study", new_report, result);
  compare_mutants(before, after, result);
  compare_perturbations(before, after, result);
  if (result.paired == 0)
    result.faults.push_back("the studies have no fault and no perturbation in common");
  return result;
}

std::string comparison_text(const PowerComparison& c) {
  auto text = fmt::format(
      "Faults caught: {} of {} -> {} of {}; right kernels accused: {} of {} -> {} of {}\n",
      c.old_score.caught, c.old_score.total, c.new_score.caught, c.new_score.total, c.old_alarms,
      c.old_right, c.new_alarms, c.new_right);
  text += fault_rows(c.faults);
  text += change_rows("Lost", c.lost);
  text += change_rows("Won", c.won);
  text += name_rows("Perturbations of which more pass", c.weaker);
  text += name_rows("Missing: in the old study alone", c.missing);
  text += fmt::format(
      "\n{}: {} faults lost, {} perturbations weaker, {} missing, {} more false alarms\n",
      outcome_of(c.exit_code()), c.lost.size(), c.weaker.size(), c.missing.size(),
      c.new_alarms > c.old_alarms ? c.new_alarms - c.old_alarms : 0);
  return text;
}

}  // namespace gdr2
