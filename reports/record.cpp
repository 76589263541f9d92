// SPDX-License-Identifier: Apache-2.0
#include "reports/record.hpp"

#include <algorithm>

namespace gdr2 {

bool is_bad(const CaseRecord& record) {
  const auto state = record.verdict.state;
  return state != State::kPassed && state != State::kSkipped && record.waiver.empty();
}

int exit_code(const RunRecord& run, bool strict) {
  const auto skipped =
      std::ranges::count(run.cases, State::kSkipped, [](const auto& c) { return c.verdict.state; });
  if (skipped == std::ssize(run.cases)) return 3;
  const bool bad = std::ranges::any_of(run.cases, is_bad);
  return !bad && run.complete && !(strict && skipped > 0) ? 0 : 1;
}

}  // namespace gdr2
