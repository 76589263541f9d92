// SPDX-License-Identifier: Apache-2.0
// A kernel that got slower closes the gate; a machine that did, noise and a peer do not; a report that is
// empty, cut short or of another device never opens it.
#include "reports/compare_bench.hpp"

#include <gmock/gmock.h>

#include "tests/reports/golden.hpp"

namespace gdr2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

/// Seven rounds with a scatter of their own: by 1 % up and down.
std::vector<double> rounds_of(double ms, int shift = 0) {
  std::vector<double> rounds;
  for (int i = 0; i < 7; ++i)
    rounds.push_back(ms * (1 + 0.01 * double((i * 3 + shift) % 7 - 3) / 3));
  return rounds;
}

BenchRow row(const std::string& kernel, const std::string& pass, std::vector<double> ms) {
  BenchRow row{.kernel = kernel, .line = "T=8192 H=16", .pass = pass, .ms = std::move(ms)};
  row.device = "NVIDIA H200", row.memory_bytes = 1e6, row.floor_bytes = 1e9, row.operations = 1e9;
  return row;
}

BenchRun run_of(double forward_ms, double backward_ms, double peer_ms, int shift = 0) {
  BenchRun run{
      .run = {.version = "1", .git_sha = "unknown", .argv = {"gdr2", "bench"}, .complete = true},
      .rounds = 7,
      .repetitions = 10,
      .rows = {row("ours", "forward", rounds_of(forward_ms, shift)),
               row("peer", "forward", rounds_of(peer_ms, shift)),
               row("ours", "forward+backward", rounds_of(backward_ms, shift)),
               row("peer", "forward+backward", rounds_of(4 * peer_ms, shift))}};
  run.ratios = {ratio_of(run.rows[0], run.rows[1]), ratio_of(run.rows[2], run.rows[3])};
  return run;
}

TEST(TimeRatio, IsTheMedianOfPairsBetweenTwoOfThem) {
  const auto r = time_ratio_of({1, 2, 1, 1, 1, 1, 1}, {1.1, 2.4, 1.3, 1.4, 1.5, 1.6, 1.7});
  EXPECT_DOUBLE_EQ(r.ratio, 1.4);
  EXPECT_DOUBLE_EQ(r.low, 1.1);
  EXPECT_DOUBLE_EQ(r.high, 1.7);
  EXPECT_EQ(r.confidence, 1 - 2.0 / 128);
}

TEST(TimeRatio, LeavesOutAsManyAtTheEndsAsItsConfidenceAllows) {
  std::vector<double> old_ms, new_ms;
  for (int i = 0; i < 20; ++i) old_ms.push_back(1), new_ms.push_back(1 + i);
  const auto r = time_ratio_of(old_ms, new_ms);  // of 20 the 6th from either end: 95.9 %
  EXPECT_EQ(r.low, 6);
  EXPECT_EQ(r.high, 15);
  EXPECT_NEAR(r.confidence, 0.9586, 1e-4);
}

TEST(TimeRatio, OfFewRoundsSaysHowLittleTheyTell) {
  EXPECT_EQ(time_ratio_of({1}, {2}).confidence, 0);
  EXPECT_EQ(time_ratio_of({1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}).confidence, 1 - 2.0 / 32);
  EXPECT_EQ(time_ratio_of({}, {2}).rounds, 0);
}

TEST(CompareBench, OfARunWithItselfFindsNothing) {
  const auto comparison = compare(run_of(1, 4, 2), run_of(1, 4, 2));
  EXPECT_EQ(comparison.exit_code(), 0);
  for (const auto& change : comparison.times) EXPECT_EQ(change.time.ratio, 1);
}

TEST(CompareBench, DoesNotFireOnRunsThatDifferByTheirScatter) {
  for (int shift = 1; shift < 7; ++shift)
    EXPECT_EQ(compare(run_of(1, 4, 2), run_of(1.02, 3.95, 2.01, shift)).exit_code(), 0) << shift;
}

TEST(CompareBench, NamesTheKernelAndPassThatGotSlower) {
  const auto comparison = compare(run_of(1, 4, 2), run_of(1, 4.4, 2, 3));
  EXPECT_EQ(comparison.exit_code(), 1);
  const auto& change = comparison.times.front();
  EXPECT_TRUE(change.is_regression());
  EXPECT_EQ(change.kernel, "ours");
  EXPECT_EQ(change.pass, "forward+backward");
  EXPECT_NEAR(change.time.ratio, 1.1, 0.02);
}

TEST(CompareBench, TakesAKernelThatIsSlowerWithItsPeerForASlowerMachine) {
  EXPECT_EQ(compare(run_of(1, 4, 2), run_of(1.2, 4.8, 2.4)).exit_code(), 0);
  EXPECT_EQ(compare(run_of(1, 4, 2), run_of(1.2, 4.8, 2.1)).exit_code(), 1)
      << "and one that is slower still for slower";
  EXPECT_EQ(compare(run_of(1, 4, 2), run_of(1, 4, 3)).exit_code(), 0) << "a peer gates nothing";
}

TEST(CompareBench, NamesWhatLostItsTime) {
  auto after = run_of(1, 4, 2);
  after.rows[0].ms.clear(), after.rows[0].gate = State::kFailed, after.rows[0].reason = "o: wrong";
  const auto broken = compare(run_of(1, 4, 2), after);
  EXPECT_THAT(broken.broken, ElementsAre(HasSubstr("o: wrong")));
  EXPECT_EQ(broken.exit_code(), 1);
  after.rows.erase(after.rows.begin());
  const auto missing = compare(run_of(1, 4, 2), after);
  EXPECT_THAT(missing.missing, ElementsAre("kernel=ours T=8192 H=16  forward"));
  EXPECT_EQ(missing.exit_code(), 1);
  EXPECT_EQ(compare(after, run_of(1, 4, 2)).exit_code(), 0) << "a time that is new";
}

TEST(CompareBench, NeverPassesWhatCannotStandForAPass) {
  const BenchRun empty{.run = {.complete = true}};
  EXPECT_EQ(compare(empty, run_of(1, 4, 2)).exit_code(), 3);
  EXPECT_EQ(compare(run_of(1, 4, 2), empty).exit_code(), 1);
  EXPECT_EQ(compare(empty, empty).exit_code(), 3);
  auto interrupted = run_of(1, 4, 2);
  interrupted.run.complete = false;
  EXPECT_EQ(compare(interrupted, run_of(1, 4, 2)).exit_code(), 1);
  EXPECT_EQ(compare(run_of(1, 4, 2), interrupted).exit_code(), 1);
  auto elsewhere = run_of(1, 4, 2);
  for (auto& one : elsewhere.rows) one.device = "NVIDIA H100";
  EXPECT_EQ(compare(run_of(1, 4, 2), elsewhere).exit_code(), 1);
  auto few = run_of(1, 4, 2);
  for (auto& one : few.rows) one.ms.resize(4);
  EXPECT_EQ(compare(few, few).exit_code(), 1);
}

TEST(CompareBench, PairsAKernelThatWasRenamed) {
  auto after = run_of(1, 4.4, 2);
  after.rows[0].kernel = after.rows[2].kernel = "ours_v2";
  EXPECT_THAT(compare(run_of(1, 4, 2), after).times, SizeIs(4));
  EXPECT_EQ(compare(run_of(1, 4, 2), after).exit_code(), 1);
}

TEST(CompareBench, ReadsAsTheGoldenFile) {
  auto after = run_of(1.2, 4.8, 2.1);
  after.rows[1].ms = rounds_of(2.45);
  after.rows.push_back(row("broken", "forward", {}));
  after.rows.back().gate = State::kFailed, after.rows.back().reason = "o: wrong";
  expect_golden(comparison_text(compare(run_of(1, 4, 2), after)), "compare_bench.txt");
}

}  // namespace
}  // namespace gdr2
