// SPDX-License-Identifier: Apache-2.0
// A fault that the judge no longer catches closes the gate, also when it is gone from the list.
#include "reports/compare_power.hpp"

#include <gmock/gmock.h>

#include "tests/reports/golden.hpp"

namespace gdr2 {
namespace {

using testing::SizeIs;

PowerReport report() {
  PowerReport report{.head = {.complete = true}};
  auto& study = report.study;
  study.mutants = {
      {.name = "caught", .kind = "precision", .what = "state in bf16", .state = "caught"},
      {.name = "survivor", .kind = "layout", .what = "a stride is swapped", .state = "survived"},
      {.name = "same", .kind = "layout", .what = "nothing", .state = "equivalent"}};
  study.perturbations["zero"] = {40, 40, 0, {}};
  study.right_cases = 20;
  return report;
}

TEST(ComparePower, OfAStudyWithItselfFindsNothing) {
  EXPECT_EQ(compare(report(), report()).exit_code(), 0);
}

TEST(ComparePower, NamesAFaultThatIsNoLongerCaught) {
  for (const auto* state : {"survived", "equivalent"}) {
    auto after = report();
    after.study.mutants[0].state = state;
    const auto comparison = compare(report(), after);
    EXPECT_EQ(comparison.exit_code(), 1) << state;
    ASSERT_THAT(comparison.lost, SizeIs(1));
    EXPECT_EQ(comparison.lost[0].name, "caught");
  }
}

TEST(ComparePower, NamesAFaultThatIsGone) {
  auto after = report();
  after.study.mutants.erase(after.study.mutants.begin());
  EXPECT_EQ(compare(report(), after).missing, std::vector<std::string>{"fault caught"});
  EXPECT_EQ(compare(report(), after).exit_code(), 1);
  after = report();
  after.study.mutants.pop_back();
  EXPECT_EQ(compare(report(), after).exit_code(), 0)
      << "one that no case tells from the right kernel is none";
}

TEST(ComparePower, GatesANewFaultThatSurvives) {
  auto after = report();
  after.study.mutants.push_back({.name = "new", .kind = "layout", .what = "", .state = "caught"});
  EXPECT_EQ(compare(report(), after).exit_code(), 0);
  after.study.mutants.back().state = "survived";
  EXPECT_EQ(compare(report(), after).exit_code(), 1);
}

TEST(ComparePower, GatesAlarmsAndPerturbationsThatPass) {
  auto alarms = report();
  alarms.study.right_alarms = 1;
  EXPECT_EQ(compare(report(), alarms).exit_code(), 1);
  EXPECT_EQ(compare(alarms, report()).exit_code(), 0);
  auto weaker = report();
  weaker.study.perturbations["zero"].missed = {"T=5 o (z = 20)"};
  EXPECT_EQ(compare(report(), weaker).exit_code(), 1);
  weaker.study.perturbations.clear();
  EXPECT_EQ(compare(report(), weaker).exit_code(), 1);
}

TEST(ComparePower, CallsACatchNoRegression) {
  auto after = report();
  after.study.mutants[1].state = "caught";
  const auto comparison = compare(report(), after);
  EXPECT_EQ(comparison.exit_code(), 0);
  EXPECT_THAT(comparison.won, SizeIs(1));
}

TEST(ComparePower, NeverPassesAnEmptyOrInterruptedStudy) {
  const PowerReport empty{.head = {.complete = true}};
  EXPECT_EQ(compare(empty, report()).exit_code(), 3);
  EXPECT_EQ(compare(report(), empty).exit_code(), 1);
  EXPECT_EQ(compare(empty, empty).exit_code(), 3);
  auto interrupted = report();
  interrupted.head.complete = false;
  EXPECT_EQ(compare(report(), interrupted).exit_code(), 1);
  EXPECT_EQ(compare(interrupted, report()).exit_code(), 1);
}

TEST(ComparePower, ReadsAsTheGoldenFile) {
  auto after = report();
  after.study.mutants[0].state = "survived", after.study.mutants[0].reason = "judged in 12 cases";
  after.study.mutants[1].state = "caught";
  after.study.perturbations["zero"].missed = {"T=5 o (z = 20)"};
  after.study.right_alarms = 2;
  expect_golden(comparison_text(compare(report(), after)), "compare_power.txt");
}

}  // namespace
}  // namespace gdr2
