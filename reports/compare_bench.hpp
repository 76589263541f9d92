// SPDX-License-Identifier: Apache-2.0
// Two timing runs against each other: by what factor the time of each kernel, case and pass changed, from
// pairs of their rounds, and what the peers that both timed did meanwhile. A kernel that got slower with
// its peers ran on a slower machine; one that got slower alone is a regression.
#pragma once

#include <string>
#include <vector>

#include "reports/bench_record.hpp"
#include "reports/gate_limits.hpp"

namespace gdr2 {

/// Of pairs of rounds: the median of new over old, and the interval that holds the true one with the
/// confidence said, 95 % or, of fewer than 6 rounds, what they give.
struct TimeRatio {
  std::int64_t rounds = 0;
  double ratio = 0, low = 0, high = 0, confidence = 0;
};

/// From order statistics: no assumption about how times scatter.
TimeRatio time_ratio_of(const std::vector<double>& old_ms, const std::vector<double>& new_ms);

struct TimingChange {
  std::string kernel, line, pass;
  bool is_peer = false;
  double old_ms = 0, new_ms = 0;  ///< medians
  TimeRatio time;
  std::string peer;  ///< that moved most of those in both runs; "" when there is none
  TimeRatio peer_time;
  double memory_ratio = 0;  ///< new over old; 0: unknown

  bool slower_with_its_peer(const GateLimits& gate = kGate) const;
  bool is_regression(const GateLimits& gate = kGate) const;
};

struct BenchComparison {
  std::vector<TimingChange> times;        ///< largest growth first
  std::vector<std::string> broken;        ///< had times, and have none
  std::vector<std::string> new_failures;  ///< rows of the new run alone whose gate did not pass
  std::vector<std::string> missing;       ///< had times, and did not run or were skipped
  std::int64_t added = 0;
  std::vector<std::string> faults;  ///< why the runs cannot be compared as they are

  /// 0: no regression; 1: a regression, or a report that cannot stand for a pass; 3: nothing in common.
  int exit_code(const GateLimits& gate = kGate) const;
};

BenchComparison compare(const BenchRun& old_run, const BenchRun& new_run);
std::string comparison_text(const BenchComparison& comparison);

}  // namespace gdr2
