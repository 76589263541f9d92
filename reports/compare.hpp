// SPDX-License-Identifier: Apache-2.0
// Two runs against each other: which cases changed their state, which went missing, and by what factor
// the error of each kernel, dtype, tensor and recipe changed, with its confidence interval. Cases are
// paired by their line; two runs of other seeds pair by what else is in it.
#pragma once

#include <string>
#include <vector>

#include "reports/gate_limits.hpp"
#include "reports/record.hpp"

namespace gdr2 {

/// rms z, new over old, of a kernel, dtype, tensor and recipe.
struct ErrorChange {
  std::string kernel, dtype, tensor, recipe;  ///< dtype "all": those of the recipe together
  std::int64_t pairs = 0, elements = 0;
  double log_ratio = 0;    ///< mean over the pairs, by elements, of log(rms z new / old)
  double deviation = 0;    ///< standard deviation of that
  bool same_seeds = true;  ///< false: the pairs differ in their inputs

  double ratio() const;
  double low() const;  ///< of the 95 % confidence interval
  double high() const;
  /// Whether it moved, up or down, by more than chance explains.
  bool is_clear(const GateLimits& gate = kGate) const;
  bool is_regression(const GateLimits& gate = kGate) const;
};

struct StateChange {
  std::string kernel, line;
  State old_state{}, new_state{};
  std::string reason, repro;  ///< of the new one
};

struct TimeChange {
  std::string kernel;
  std::int64_t pairs = 0;
  double old_seconds = 0, new_seconds = 0;  ///< over the cases of both
};

struct Comparison {
  std::int64_t paired = 0;          ///< cases that ran in both
  bool same_seeds = true;           ///< false: pairs differ in their inputs
  std::vector<ErrorChange> errors;  ///< largest growth first
  std::vector<StateChange> broken;  ///< did not pass, and passed before
  std::vector<StateChange> fixed;   ///< passes, and did not before
  std::vector<StateChange> still_failing;
  std::vector<StateChange> new_failures;  ///< of cases that the old run does not have
  std::vector<std::string> missing;       ///< "kernel=K LINE": ran in the old run alone
  std::int64_t added = 0;                 ///< ran in the new run alone
  std::vector<TimeChange> times;
  std::vector<std::string> faults;  ///< why the runs cannot be compared as they are

  /// 0: no regression; 1: a regression, or a report that cannot stand for a pass; 3: nothing in common.
  int exit_code(const GateLimits& gate = kGate) const;
};

Comparison compare(const RunRecord& old_run, const RunRecord& new_run);

/// For a reader; every change, or only regressions and a count of the rest.
std::string comparison_text(const Comparison& comparison, bool all);

}  // namespace gdr2
