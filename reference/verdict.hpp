// SPDX-License-Identifier: Apache-2.0
// What a check says of a kernel on a case, as plain data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/difficulty.hpp"
#include "reference/error_stats.hpp"

namespace gdr2 {

/// kMistrusted: the check had no power on this case, e.g. an all-zero output would pass too.
enum class State { kPassed, kFailed, kMistrusted, kSkipped, kCrashed, kTimedOut };

/// "PASSED", "FAILED", "MISTRUSTED", "SKIPPED", "CRASHED", "TIMED_OUT".
const char* to_string(State state);

/// What arithmetic did to a tensor besides rounding it; NaN and infinities are in ErrorStats.
struct Census {
  std::int64_t subnormal = 0;  ///< values below the smallest normal number of the stored dtype, not 0
  std::int64_t flushed = 0;    ///< 0 where the reference, rounded to the stored dtype, is not
  std::int64_t cancelled = 0;  ///< the contract explains an error of 2^10 roundings of an operand
  double headroom = 0;         ///< bits between the largest magnitude and overflow of the stored dtype
};

/// One tensor of the kernel against the reference: a result, or a stage that the kernel exports.
struct TensorVerdict {
  ErrorStats stats;
  State state = State::kPassed;
  std::string reason;           ///< one sentence when not passed: what, where, by how much
  std::string leg = "global";   ///< "global": the whole problem; "local": from the kernel's own states
  Census census{};
};

/// The largest figure of a leg, beside the most that it may be.
struct Figure {
  std::string leg;   ///< "global", "local", "statistics", "bias", "contract"
  std::string what;  ///< the tensor and element, class or site it belongs to
  double value = 0, allowed = 0;

  bool passes() const { return value <= allowed; }
};

/// A part of a whole: "operand" with 0.71 of the variance.
struct Share {
  std::string name;
  double share = 0;
};

/// Where an error lives and what it looks like. Made for cases that failed, and when asked for.
struct Diagnosis {
  std::string where;           ///< "o: sequence 0, head 1, chunk 3, rows 16 .. 31, channel 5"
  std::string stage;           ///< the first stage that broke; empty when the kernel exports none
  std::string site;            ///< the downgraded site that the error looks most like, or empty
  double likeness = 0;         ///< its correlation with the error
  std::vector<Share> variance; ///< sigma^2 by rounding site at the worst element's row
};

struct Verdict {
  State state = State::kPassed;
  std::string leg;     ///< the leg that decided: "exact" or a figure's; empty when passed
  std::string reason;  ///< one sentence; for a skip why
  std::vector<TensorVerdict> tensors;
  std::vector<Figure> figures;  ///< of each leg that ran, in their order
  std::vector<std::string> notes;  ///< how the judging went where it was not as usual, a sentence each
  std::optional<Diagnosis> diagnosis;
  Difficulty difficulty;  ///< of the inputs; {0, 1} when they were not made
};

}  // namespace gdr2
