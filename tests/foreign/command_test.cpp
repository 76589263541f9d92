// SPDX-License-Identifier: Apache-2.0
// Kernels of commands (exec:), by a child that needs no array library: right results pass in every dtype
// and layout, and each way to misbehave gets its state and reason.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/foreign/misbehaviour.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

std::string child(const std::string& fault = "") {
  return "mine=exec:" GDR2_PYTHON " tests/foreign/pure_python_kernel.py " + fault;
}

const std::string kCase = " K=4 V=3 pass=fwd";

TEST(Command, PassesInEveryDtypeAndLayout) {
  const auto outcome = gdr2_with({"verify", "T=20" + kCase, "T=9 HV=2 h0=1 dtype=fp16 view=padded" + kCase,
                                  "T=9 B=2 dtype=fp32 view=fused" + kCase, "T=9 dtype=fp64" + kCase,
                                  "T=9 dtype=tf32 gdtype=fp32 ht=0" + kCase, "--kernel", child(), "--strict"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("5 PASSED"));
}

TEST(Command, IsReportedUnderItsShortNameAndRepeatedByItsLongOne) {
  const TemporaryFolder folder;
  const auto report = folder.path("report.json");
  gdr2_with({"verify", "T=5" + kCase, "--kernel", child(), "--contract", "bf16", "--json", report});
  const auto cases = read_report(report).cases;
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].kernel, "mine");
  EXPECT_THAT(cases[0].repro, HasSubstr("gdr2 verify -v --kernel '" + child() + "' 'T=5"));
  EXPECT_THAT(cases[0].repro, HasSubstr("--contract 'bf16'"));
  EXPECT_THAT(cases[0].contract, HasSubstr("operand=bf16"));
}

TEST(Command, SkipsWhatItDoesNotTake) {
  const auto outcome = gdr2_with({"verify", "T=5 K=4 V=3", "--kernel", child()});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.out, HasSubstr("it takes the forward pass of equal lengths"));
}

class BadCommand : public testing::TestWithParam<Misbehaviour> {};

TEST_P(BadCommand, CostsItsCaseAndNoOther) {
  expect_costs_its_case_alone(GetParam(), kCase, {"--kernel", child(GetParam().fault), "--timeout", "3"});
}

INSTANTIATE_TEST_SUITE_P(
    Of, BadCommand,
    testing::Values(Misbehaviour{"raises", State::kCrashed, "RuntimeError: out of luck"},
                    Misbehaviour{"is_wrong", State::kFailed, "o has one channel too few"},
                    Misbehaviour{"skips", State::kSkipped, "these gates are not tied"},
                    Misbehaviour{"hangs", State::kTimedOut, "did not answer within 3 s"},
                    Misbehaviour{"exits", State::kCrashed, "exited with code 3; it said: could not go on"},
                    Misbehaviour{"forgets_ht", State::kFailed, "ht: 12 NaN"},
                    Misbehaviour{"writes_input", State::kFailed, "v: the kernel wrote to an input"},
                    Misbehaviour{"prints", State::kPassed, ""},
                    Misbehaviour{"shrinks_file", State::kCrashed, "PermissionError"},
                    Misbehaviour{"other_dtype", State::kFailed, "o: dtype is \"fp64\", not \"bf16\""}),
    name_of);

TEST(Command, ThatTalksNonsenseIsCrashed) {
  const auto outcome = gdr2_with({"verify", "T=12" + kCase, "--kernel", child("nonsense")});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("CRASHED"));
  EXPECT_THAT(outcome.out, HasSubstr("sent something that is no answer: \"what?\""));
}

TEST(Command, ThatDoesNotStartIsAnErrorThatSaysWhy) {
  for (const auto& [command, message] :
       {std::pair<std::string, std::string>{"exec:no_such_program_at_all", "not found"},
        {"exec:cat", "no answer"},
        {"exec: ", "no command"}}) {
    const auto outcome = gdr2_with({"verify", "T=12" + kCase, "--kernel", command});
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }
}

TEST(Command, ObeysTheExactLaws) {
  const auto outcome = gdr2_with({"laws", "T=20" + kCase, "--law", "causality", "--kernel", child()});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

TEST(Bench, TimesTheCommandAndItsPeerInOneRun) {
  const TemporaryFolder folder;
  const auto report = folder.path("bench.json");
  const auto outcome = gdr2_with({"bench", "T=20" + kCase, "--kernel", "cpu.recurrent", "--peer", child(),
                                  "--rounds", "3", "--repetitions", "2", "--json", report});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const auto json = nlohmann::json::parse(read_file(report));
  ASSERT_EQ(json["rows"].size(), 2u);
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["gate"], "PASSED");
    EXPECT_EQ(row["round_medians_ms"].size(), 3u);
    EXPECT_GT(row["median_ms"], 0);
    EXPECT_EQ(row["floor_bytes"], 20 * (4 * 2 * 3 + 4 * 4 + 2 * 3 * 3) + 4 * 4 * 3);  // q k b, g, v w o, ht
    EXPECT_EQ(row["operations"], 7 * 20 * 4 * 3);
  }
  ASSERT_EQ(json["ratios"].size(), 1u);
  EXPECT_GT(json["ratios"][0]["ratio"], 0);
  EXPECT_LE(json["ratios"][0]["low"], json["ratios"][0]["ratio"]);
  EXPECT_EQ(json["ratios"][0]["confidence"], 0.75);
}

TEST(Bench, GivesNoTimeToAKernelThatIsWrong) {
  const TemporaryFolder folder;
  const auto report = folder.path("bench.json");
  const auto outcome = gdr2_with({"bench", "T=13" + kCase, "--kernel", child("forgets_ht"), "--json", report});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("FAILED"));
  EXPECT_FALSE(nlohmann::json::parse(read_file(report))["rows"][0].contains("median_ms"));
}

}  // namespace
}  // namespace gdr2
