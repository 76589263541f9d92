// SPDX-License-Identifier: Apache-2.0
#include "reports/record.hpp"

#include <algorithm>

namespace gdr2 {

int exit_code(const RunRecord& run, bool strict) {
  const auto count = [&](State state) {
    return std::ranges::count_if(run.cases,
                                 [=](const auto& c) { return c.verdict.state == state; });
  };
  const auto all = std::ssize(run.cases);
  const auto skipped = count(State::kSkipped);
  if (skipped == all) return 3;
  const bool all_passed = count(State::kPassed) + skipped == all;
  return all_passed && run.complete && !(strict && skipped > 0) ? 0 : 1;
}

}  // namespace gdr2
