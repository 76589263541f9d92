// SPDX-License-Identifier: Apache-2.0
// When a change from one report to another is a regression. The thresholds stand here and nowhere else;
// docs/HOWTO_gate_a_pull_request.md says why they are these.
#pragma once

#include <cstdint>

namespace gdr2 {

struct GateLimits {
  double ratio = 1.02;           ///< the error of a group grew by more than this factor,
  double deviations = 6;         ///< by more than so many standard deviations of the factor
  double other_seeds = 9;        ///< (so many between runs whose inputs differ),
  std::int64_t elements = 1000;  ///< over at least so many elements

  double time_ratio = 1.05;  ///< the time of a kernel grew by more than this factor,
  std::int64_t rounds = 5;   ///< over at least so many rounds, and in its whole confidence interval
};
inline constexpr GateLimits kGate;

}  // namespace gdr2
