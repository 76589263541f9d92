// SPDX-License-Identifier: Apache-2.0
#include "cli/placement.hpp"

#include <gmock/gmock.h>

#include <map>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

Environment environment_of(Variables variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

TEST(Placement, IsTheWholeRunByDefault) {
  const auto placement = placement_of("", environment_of({}));
  EXPECT_EQ(placement.shard, (Shard{0, 1}));
  EXPECT_FALSE(placement.is_rank());
}

TEST(Placement, TakesTheOptionBeforeTheEnvironment) {
  const auto placement = placement_of(
      "2/8", environment_of({{"GTEST_TOTAL_SHARDS", "3"}, {"GTEST_SHARD_INDEX", "0"}}));
  EXPECT_EQ(placement.shard, (Shard{1, 8}));
}

TEST(Placement, PicksUpSchedulers) {
  EXPECT_EQ(
      placement_of("", environment_of({{"GTEST_TOTAL_SHARDS", "3"}, {"GTEST_SHARD_INDEX", "2"}}))
          .shard,
      (Shard{2, 3}));
  EXPECT_EQ(placement_of("", environment_of({{"SLURM_ARRAY_TASK_ID", "5"},
                                             {"SLURM_ARRAY_TASK_COUNT", "4"},
                                             {"SLURM_ARRAY_TASK_MIN", "4"}}))
                .shard,
            (Shard{1, 4}));
  const auto rank = placement_of("", environment_of({{"OMPI_COMM_WORLD_RANK", "3"},
                                                     {"OMPI_COMM_WORLD_SIZE", "4"},
                                                     {"PMIX_NAMESPACE", "job7"}}));
  EXPECT_EQ(rank.shard, (Shard{3, 4}));
  EXPECT_TRUE(rank.is_rank());
  EXPECT_EQ(rank.job, "job7");
}

TEST(Placement, RefusesWhatIsNoPart) {
  const auto refusal = [](const std::string& option, Variables variables) -> std::string {
    try {
      placement_of(option, environment_of(std::move(variables)));
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  };
  for (const auto* option : {"3", "0/4", "5/4", "x/4", "1/0", "-1/4", "1/4/2"})
    EXPECT_THAT(refusal(option, {}), HasSubstr("--shard: ")) << option;
  EXPECT_THAT(refusal("", {{"GTEST_SHARD_INDEX", "1"}}), HasSubstr("GTEST_TOTAL_SHARDS is not"));
  EXPECT_THAT(refusal("", {{"GTEST_SHARD_INDEX", "4"}, {"GTEST_TOTAL_SHARDS", "4"}}),
              HasSubstr("GTEST_SHARD_INDEX: there is no shard 5 of 4"));
  EXPECT_THAT(refusal("", {{"GTEST_SHARD_INDEX", "1"},
                           {"GTEST_TOTAL_SHARDS", "4"},
                           {"SLURM_ARRAY_TASK_ID", "0"},
                           {"SLURM_ARRAY_TASK_COUNT", "2"}}),
              HasSubstr("both Slurm array and GoogleTest split this run"));
}

TEST(VisibleDevices, GivesEachRankOfAHostAGpu) {
  const auto of = [](Variables variables, int devices) {
    return visible_devices(environment_of(std::move(variables)), devices);
  };
  EXPECT_EQ(of({}, 4), std::nullopt);
  EXPECT_EQ(of({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}, 4), "1");
  EXPECT_EQ(of({{"OMPI_COMM_WORLD_LOCAL_RANK", "5"}}, 4), "1");
  EXPECT_EQ(of({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}, 1), std::nullopt);
  EXPECT_EQ(of({{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}, {"CUDA_VISIBLE_DEVICES", "6,7"}}, 8), "7");
  EXPECT_EQ(of({{"CTEST_RESOURCE_GROUP_0_GPUS", "id:2,slots:1"}}, 4), "2");
}

TEST(ShardPath, StandsBeforeTheExtension) {
  EXPECT_EQ(shard_path("out/report.json", {1, 8}), "out/report.2-of-8.json");
  EXPECT_EQ(shard_path("report", {0, 2}), "report.1-of-2");
}

}  // namespace
}  // namespace gdr2
