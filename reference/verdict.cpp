// SPDX-License-Identifier: Apache-2.0
#include "reference/verdict.hpp"

namespace gdr2 {

const char* to_string(State state) {
  switch (state) {
    case State::kPassed: return "PASSED";
    case State::kFailed: return "FAILED";
    case State::kMistrusted: return "MISTRUSTED";
    case State::kSkipped: return "SKIPPED";
    case State::kCrashed: return "CRASHED";
    case State::kTimedOut: break;
  }
  return "TIMED_OUT";
}

}  // namespace gdr2
