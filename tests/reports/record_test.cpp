// SPDX-License-Identifier: Apache-2.0
#include "reports/record.hpp"

#include <gtest/gtest.h>

namespace gdr2 {
namespace {

RunRecord run_of(std::vector<State> states, bool complete = true) {
  RunRecord run{.planned = std::ssize(states), .complete = complete};
  for (auto state : states) run.cases.push_back({.verdict = {.state = state}});
  return run;
}

TEST(ExitCode, IsZeroWhenAllPassed) {
  EXPECT_EQ(exit_code(run_of({State::kPassed, State::kPassed}), false), 0);
  EXPECT_EQ(exit_code(run_of({State::kPassed, State::kPassed}), true), 0);
}

TEST(ExitCode, IsOneForEveryStateThatIsNotPassedOrSkipped) {
  for (auto state : {State::kFailed, State::kMistrusted, State::kCrashed, State::kTimedOut}) {
    EXPECT_EQ(exit_code(run_of({State::kPassed, state}), false), 1) << to_string(state);
    EXPECT_EQ(exit_code(run_of({state}), false), 1) << to_string(state);
  }
}

TEST(ExitCode, CountsASkipOnlyWhenStrict) {
  EXPECT_EQ(exit_code(run_of({State::kPassed, State::kSkipped}), false), 0);
  EXPECT_EQ(exit_code(run_of({State::kPassed, State::kSkipped}), true), 1);
}

TEST(ExitCode, IsThreeWhenNothingRan) {
  EXPECT_EQ(exit_code(run_of({}), false), 3);
  EXPECT_EQ(exit_code(run_of({State::kSkipped, State::kSkipped}), false), 3);
  EXPECT_EQ(exit_code(run_of({State::kSkipped}), true), 3);
}

TEST(ExitCode, IsOneForAnInterruptedRun) {
  EXPECT_EQ(exit_code(run_of({State::kPassed}, false), false), 1);
}

}  // namespace
}  // namespace gdr2
