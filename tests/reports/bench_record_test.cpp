// SPDX-License-Identifier: Apache-2.0
#include "reports/bench_record.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "tests/reports/golden.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

BenchRow row(const std::string& kernel, std::vector<double> ms) {
  BenchRow row{.kernel = kernel, .line = "T=64", .pass = "forward", .ms = std::move(ms)};
  row.floor_bytes = 8e6;
  row.operations = 2e9;
  row.memory_bytes = 1e6;
  return row;
}

TEST(Median, IsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
  EXPECT_EQ(median_of({3, 1, 2}), 2);
  EXPECT_EQ(median_of({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median_of({}), 0);
}

TEST(Ratio, PairsRoundsBeforeItTakesTheMedian) {
  // A device that slows down in the second round slows both: each round's ratio is 2.
  auto peer = row("peer", {4, 40, 6});
  peer.kernels_ms = 3;
  peer.memory_bytes = 4e6;
  const auto r = ratio_of(row("ours", {2, 20, 3}), peer);
  EXPECT_EQ(r.ratio, 2);
  EXPECT_EQ(r.low, 2);
  EXPECT_EQ(r.high, 2);
  EXPECT_EQ(r.confidence, 0.75);
  EXPECT_EQ(r.kernels_ratio, 1);  // 3 ms of kernels over a median of 3 ms
  EXPECT_EQ(r.memory_ratio, 0.25);
}

TEST(BenchJson, HoldsRatesOfTheMedian) {
  BenchRun run{.rounds = 3, .repetitions = 5, .rows = {row("ours", {2, 1, 4})}};
  const auto json = nlohmann::json::parse(bench_json(run));
  const auto& only = json["rows"][0];
  EXPECT_EQ(only["median_ms"], 2);
  EXPECT_EQ(only["floor_gb_per_s"], 4);
  EXPECT_EQ(only["tflop_per_s"], 1);
  EXPECT_TRUE(only["kernels_ms"].is_null());
}

TEST(BenchJson, GivesNoTimeToARowWithoutAny) {
  auto failed = row("ours", {});
  failed.gate = State::kFailed;
  failed.reason = "o: wrong";
  const auto json = nlohmann::json::parse(bench_json({.rows = {failed}}));
  EXPECT_FALSE(json["rows"][0].contains("median_ms"));
  EXPECT_EQ(json["rows"][0]["gate"], "FAILED");
  EXPECT_THAT(bench_text({.rows = {failed}}), HasSubstr("o: wrong"));
}

BenchRun run_with_a_peer() {
  auto ours = row("ours", {2, 1, 4}), peer = row("fla.gdn2", {4, 3, 7}), failed = row("broken", {});
  ours.device = peer.device = "NVIDIA H200";
  ours.p10_ms = 1, ours.p90_ms = 4, ours.kernels_ms = 1.5, ours.copy_gb_per_s = 4000;
  peer.memory_bytes = 4e6;
  failed.gate = State::kFailed, failed.reason = "o: wrong";
  BenchRun run{.run = {.version = "1",
                       .git_sha = "unknown",
                       .argv = {"gdr2", "bench"},
                       .started = "2026-01-01T00:00:00Z",
                       .complete = true},
               .rounds = 3,
               .repetitions = 5,
               .clocks = "1980 MHz",
               .rows = {ours, peer, failed}};
  run.run.environment["gpu"] = "NVIDIA H200";
  run.ratios = {ratio_of(ours, peer)};
  return run;
}

TEST(BenchJson, ComesBack) {
  const auto text = bench_json(run_with_a_peer());
  EXPECT_EQ(bench_json(bench_from_json({nlohmann::ordered_json::parse(text), "b"})), text);
}

TEST(BenchJson, OfAnotherKindIsRefusedByName) {
  const nlohmann::ordered_json other{{"kind", "verify"}};
  EXPECT_THROW(bench_from_json({other, "b"}), Error);
}

TEST(BenchText, IsTheGoldenFile) { expect_golden(bench_text(run_with_a_peer()), "bench.txt"); }
TEST(BenchJson, IsTheGoldenFile) { expect_golden(bench_json(run_with_a_peer()), "bench.json"); }

TEST(BenchExitCode, SaysWhetherAllThatRanPassedTheGate) {
  auto failed = row("failed", {}), skipped = row("skipped", {});
  failed.gate = State::kFailed;
  skipped.gate = State::kSkipped;
  EXPECT_EQ(exit_code(BenchRun{.rows = {row("ours", {1}), skipped}}), 0);
  EXPECT_EQ(exit_code(BenchRun{.rows = {row("ours", {1}), failed}}), 1);
  EXPECT_EQ(exit_code(BenchRun{.rows = {skipped}}), 3);
}

}  // namespace
}  // namespace gdr2
