// SPDX-License-Identifier: Apache-2.0
// What a check says of a kernel on a case, as plain data.
#pragma once

#include <string>
#include <vector>

#include "reference/difficulty.hpp"
#include "reference/error_stats.hpp"

namespace gdr2 {

/// kMistrusted: the check had no power on this case, e.g. an all-zero output would pass too.
enum class State { kPassed, kFailed, kMistrusted, kSkipped, kCrashed, kTimedOut };

/// "PASSED", "FAILED", "MISTRUSTED", "SKIPPED", "CRASHED", "TIMED_OUT".
const char* to_string(State state);

/// One tensor of the kernel against the reference.
struct TensorVerdict {
  ErrorStats stats;
  State state = State::kPassed;
  std::string reason;  ///< one sentence when not passed: what, where, by how much
};

struct Verdict {
  State state = State::kPassed;
  std::string leg;     ///< the leg that decided: "exact", "global"; empty when passed
  std::string reason;  ///< one sentence; for a skip why
  std::vector<TensorVerdict> tensors;
  Difficulty difficulty;  ///< of the inputs; {0, 1} when they were not made
};

}  // namespace gdr2
