// SPDX-License-Identifier: Apache-2.0
// Shards of a run put together, and the maps that a report keeps.
#include "reports/merge.hpp"

#include <gmock/gmock.h>

#include "reference/error.hpp"
#include "reports/map_keeper.hpp"
#include "reports/report_file.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

/// A run of `cases` cases, one tensor with maps each; z grows and falls.
RunRecord whole_run(std::int64_t cases) {
  RunRecord run{.version = "1",
                .git_sha = "unknown",
                .argv = {"gdr2"},
                .started = "2026-01-01T00:00:00Z",
                .environment = {{"host", "a"}},
                .seeds = {1, 2},
                .plan = "p",
                .planned = cases,
                .complete = true};
  for (std::int64_t i = 0; i < cases; ++i) {
    CaseRecord record{.index = i,
                      .kernel = "k",
                      .line = "seed=" + std::to_string(i),
                      .dtype = "bf16",
                      .repro = "r"};
    TensorVerdict tensor;
    tensor.stats.max_z = double(i * 7 % cases);
    tensor.stats.profile.maps = {{.rows = "token", .columns = "head"}};
    tensor.stats.window.value = {1};
    record.verdict.tensors = {tensor};
    run.cases.push_back(record);
  }
  return run;
}

RunRecord shard_of(const RunRecord& whole, Shard shard) {
  auto run = whole;
  run.shard = shard;
  std::erase_if(run.cases, [&](auto& c) { return c.index % shard.count != shard.index; });
  run.planned = std::ssize(run.cases);
  keep_worst_maps(run.cases);
  return run;
}

std::vector<NamedRun> shards_of(const RunRecord& whole, std::int64_t count) {
  std::vector<NamedRun> shards;
  for (std::int64_t i = count - 1; i >= 0; --i)
    shards.push_back({"shard" + std::to_string(i + 1), shard_of(whole, {i, count})});
  return shards;
}

std::string refusal(std::vector<NamedRun> shards) {
  try {
    merge_shards(std::move(shards));
  } catch (const Error& error) {
    return error.what();
  }
  return "not refused";
}

TEST(Merge, GivesTheReportOfTheWholeRunToTheByte) {
  auto whole = whole_run(11);
  keep_worst_maps(whole.cases);
  for (std::int64_t count : {1, 2, 4, 11})
    EXPECT_EQ(report_text(merge_shards(shards_of(whole_run(11), count))), report_text(whole))
        << count;
}

TEST(Merge, RefusesShardsByName) {
  const auto whole = whole_run(8);
  auto shards = shards_of(whole, 4);  // of 4, 3, 2, 1
  auto missing = shards;
  missing.erase(missing.begin() + 1);
  EXPECT_EQ(refusal(missing), "missing: shard 3 of 4");
  auto twice = shards;
  twice[1] = {"copy", shards[0].run};
  EXPECT_EQ(refusal(twice), "shard4 and copy overlap: both are shard 4 of 4");
  auto cut = shards;
  cut[0].run.complete = false, cut[0].run.cases.pop_back();
  EXPECT_EQ(refusal(cut), "shard4: shard 4 of 4 was interrupted: 1 of 2 cases done");
  auto other = shards;
  other[3].run.plan = "q";
  EXPECT_THAT(refusal(other), HasSubstr("shard1 and "));
  EXPECT_THAT(refusal(other), HasSubstr("not of one run: plan is q and p"));
  other = shards;
  other[0].run.git_sha = "f00";
  EXPECT_THAT(refusal(other), HasSubstr("git_sha is unknown and f00"));
  EXPECT_EQ(refusal({}), "no report to merge");
}

TEST(MapKeeper, KeepsTheMapsOfTheWorstWhateverTheOrder) {
  auto cases = whole_run(20).cases;
  auto reversed = cases;
  std::ranges::reverse(reversed);
  keep_worst_maps(cases);
  keep_worst_maps(reversed);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& stats = cases[i].verdict.tensors[0].stats;
    const bool worst = stats.max_z >= 20 - double(kMapsKept);  // of 0 .. 19
    kept += !stats.profile.maps.empty();
    EXPECT_EQ(!stats.profile.maps.empty(), worst) << i;
    EXPECT_EQ(!stats.window.empty(), worst) << i;
    EXPECT_EQ(stats.profile.maps, reversed[19 - i].verdict.tensors[0].stats.profile.maps);
  }
  EXPECT_EQ(kept, kMapsKept);
}

TEST(MapKeeper, PrefersWhatDidNotPass) {
  auto cases = whole_run(10).cases;
  cases[0].verdict.tensors[0].state = State::kFailed;  // z = 0
  keep_worst_maps(cases);
  EXPECT_FALSE(cases[0].verdict.tensors[0].stats.profile.maps.empty());
}

TEST(PlanName, DiffersWithEveryCase) {
  EXPECT_EQ(plan_name({"a", "b"}), plan_name({"a", "b"}));
  EXPECT_NE(plan_name({"a", "b"}), plan_name({"b", "a"}));
  EXPECT_NE(plan_name({"ab"}), plan_name({"a", "b"}));
}

}  // namespace
}  // namespace gdr2
