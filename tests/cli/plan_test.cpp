// SPDX-License-Identifier: Apache-2.0
#include "cli/plan.hpp"

#include <gmock/gmock.h>

#include <filesystem>

namespace gdr2 {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(ParseKernelCase, TakesTheKernelFromAnywhereInTheLine) {
  const auto parsed = parse_kernel_case("T=8 kernel=cpu.chunk recipe=slow");
  EXPECT_EQ(parsed.kernel, "cpu.chunk");
  EXPECT_EQ(to_string(parsed.c), "T=8 recipe=slow");
}

TEST(SelectCases, SaysFilesOfASetFromTheWorkingFolder) {
  std::filesystem::current_path(GDR2_SOURCE_DIR);
  std::vector<std::string> files;
  for (const auto& selected : select_cases({.sets = {"activations"}}))
    if (!selected.c.file.empty()) files.push_back(selected.c.file);
  EXPECT_THAT(files, Not(IsEmpty()));
  EXPECT_THAT(files, Each(StartsWith("fixtures/activations/")));
}

TEST(SelectCases, TakesEveryRecipeWithEverySeed) {
  const auto cases =
      select_cases({.lines = {"T=8"}, .recipes = {"slow", "fast"}, .seed = 5, .seeds = 2});
  std::vector<std::string> lines;
  for (const auto& selected : cases) lines.push_back(to_string(selected.c));
  EXPECT_THAT(lines, ElementsAre("T=8 recipe=slow seed=5", "T=8 recipe=slow seed=6",
                                 "T=8 recipe=fast seed=5", "T=8 recipe=fast seed=6"));
  EXPECT_THAT(seeds_of(cases), ElementsAre(5, 6));
}

TEST(MakeJobs, GivesTheCommandThatRunsTheCaseAlone) {
  const auto jobs = make_jobs(select_cases({.lines = {"T=8 recipe=slow"}}), {"cpu.chunk"});
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].record.repro, "gdr2 repro 'kernel=cpu.chunk T=8 recipe=slow'");
  const auto again = parse_kernel_case("kernel=cpu.chunk T=8 recipe=slow");
  EXPECT_EQ(to_string(again.c), jobs[0].record.line);
}

}  // namespace
}  // namespace gdr2
