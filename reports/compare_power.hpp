// SPDX-License-Identifier: Apache-2.0
// Two power studies against each other: a fault that was caught and is no longer, a perturbation that
// passes, a right kernel that is accused. The judge may get stronger; it gets weaker only where it says so.
#pragma once

#include <string>
#include <vector>

#include "reports/gate_limits.hpp"
#include "reports/power.hpp"
#include "reports/record.hpp"

namespace gdr2 {

struct PowerReport {
  RunRecord head;  ///< no cases
  PowerStudy study;
};

struct FaultChange {
  std::string name, what, old_state, new_state, reason;
};

struct PowerComparison {
  std::int64_t paired = 0;  ///< faults and perturbations in both
  MutationScore old_score, new_score;
  std::vector<FaultChange> lost;     ///< caught before and no longer, or new and not caught
  std::vector<FaultChange> won;      ///< caught now
  std::vector<std::string> missing;  ///< faults and perturbations of the old study alone
  std::vector<std::string> weaker;   ///< perturbations of which more pass
  std::int64_t old_alarms = 0, new_alarms = 0, old_right = 0, new_right = 0;
  std::vector<std::string> faults;  ///< why the studies cannot be compared as they are

  /// 0: no regression; 1: a regression, or a study that cannot stand for a pass; 3: nothing in common.
  int exit_code() const;
};

PowerComparison compare(const PowerReport& old_report, const PowerReport& new_report);
std::string comparison_text(const PowerComparison& comparison);

}  // namespace gdr2
