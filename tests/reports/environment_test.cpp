// SPDX-License-Identifier: Apache-2.0
#include "reports/environment.hpp"

#include <gmock/gmock.h>

namespace gdr2 {
namespace {

using testing::MatchesRegex;

TEST(Environment, SaysWhereAndWithWhatARunTookPlace) {
  const auto facts = environment();
  for (const auto* key : {"host", "kernel", "cores", "compiler", "flags", "build"})
    EXPECT_TRUE(facts.contains(key)) << key;
  for (const auto& [key, value] : facts) EXPECT_NE(value, "") << key;
}

TEST(NewRun, KnowsTheSourcesOfTheBinaryAndTheTime) {
  const auto run = new_run({"gdr2", "verify"});
  EXPECT_THAT(run.version, MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(run.git_sha, MatchesRegex("[0-9a-f]{40}|unknown"));
  EXPECT_THAT(run.started, MatchesRegex("20[0-9-]{8}T[0-9:]{8}Z"));
  EXPECT_EQ(run.argv, (std::vector<std::string>{"gdr2", "verify"}));
  EXPECT_FALSE(run.complete);
}

}  // namespace
}  // namespace gdr2
