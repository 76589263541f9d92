// SPDX-License-Identifier: Apache-2.0
// Libraries that misbehave on one case of three: that case gets its state and reason, the others the verdict
// that the right library gets (tests/foreign/bad_kernel.c).
#include "tests/foreign/misbehaviour.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

const std::string kCase = " H=2 K=4 V=4 dtype=fp32 pass=fwd h0=1";

std::string library(const std::string& fault) {
  return std::string(GDR2_BAD_LIBRARIES) + "/lib" + fault + ".so";
}

std::vector<std::string> options_for(const std::string& fault) {
  return {"--kernel", library(fault), "--timeout", "2", "--memory", "300"};
}

class BadLibrary : public testing::TestWithParam<Misbehaviour> {};

TEST_P(BadLibrary, CostsItsCaseAndNoOther) {
  const auto cases = expect_costs_its_case_alone(GetParam(), kCase, options_for(GetParam().fault));
  ASSERT_EQ(cases.size(), 3u);
  static const auto right = judge_three(kCase, options_for("right"), 0);
  for (const int other : {0, 2}) {
    ASSERT_EQ(cases[other].verdict.tensors.size(), right[other].verdict.tensors.size());
    for (std::size_t i = 0; i < right[other].verdict.tensors.size(); ++i)
      EXPECT_EQ(cases[other].verdict.tensors[i].stats.max_z, right[other].verdict.tensors[i].stats.max_z);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, BadLibrary,
    testing::Values(Misbehaviour{"segfault", State::kCrashed, "signal 11 (Segmentation fault)"},
                    Misbehaviour{"abort", State::kCrashed, "signal 6 (Aborted)"},
                    Misbehaviour{"exit", State::kCrashed, "exited with code 0"},
                    Misbehaviour{"hang", State::kTimedOut, "did not answer within 2 s"},
                    Misbehaviour{"grow", State::kCrashed, "grew past 300 MB"},
                    Misbehaviour{"out_of_bounds", State::kFailed, "o: the kernel wrote outside the tensor"},
                    Misbehaviour{"far_out_of_bounds", State::kCrashed, "signal 11"},
                    Misbehaviour{"nan", State::kFailed, "o: 1 NaN"},
                    Misbehaviour{"unwritten", State::kFailed, "o: 1 NaN"},
                    Misbehaviour{"writes_input", State::kFailed, "v: the kernel wrote to an input"},
                    Misbehaviour{"lies", State::kFailed, "does not support a problem that query says"},
                    Misbehaviour{"fails", State::kCrashed, "forward returned 3: out of luck"},
                    Misbehaviour{"prints", State::kPassed, ""},
                    Misbehaviour{"closes_output", State::kCrashed, "the kernel's process"},
                    Misbehaviour{"query_crashes", State::kCrashed, "signal 6"},
                    Misbehaviour{"query_hangs", State::kTimedOut, "within 2 s"}),
    name_of);

struct Refusal {
  std::string fault, message;
};

class UnusableLibrary : public testing::TestWithParam<Refusal> {};

TEST_P(UnusableLibrary, IsAnErrorThatSaysWhy) {
  const auto& [fault, message] = GetParam();
  const auto outcome = gdr2_with({"verify", "T=12" + kCase, "--kernel", library(fault)});
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("--kernel: "));
  EXPECT_THAT(outcome.err, HasSubstr("lib" + fault + ".so"));
  EXPECT_THAT(outcome.err, HasSubstr(message));
}

INSTANTIATE_TEST_SUITE_P(Of, UnusableLibrary,
                         testing::Values(Refusal{"wrong_version", "ABI version 7, this suite speaks 1"},
                                         Refusal{"wrong_size", "bytes, expected"},
                                         Refusal{"no_table", "gdr2_kernel_v1() gave nothing"},
                                         Refusal{"crashes_on_load", "signal 6 (Aborted)"},
                                         Refusal{"no_symbol", "does not export gdr2_kernel_v1"}),
                         [](const auto& info) { return info.param.fault; });

TEST(IsolatedKernels, GiveTheVerdictsOfKernelsInTheJudgesProcess) {
  const TemporaryFolder folder;
  const auto verdicts = [&](const std::vector<std::string>& more) {
    const auto report = folder.path("report.json");
    std::vector<std::string> words{"verify", "T=20 K=8 V=4 view=padded", "lens=5,0,66 HV=2 K=8 V=4 h0=1 view=fused",
                                   "--kernel", "cpu.chunk", "--json", report};
    words.insert(words.end(), more.begin(), more.end());
    EXPECT_EQ(gdr2_with(words).status, 0);
    std::vector<double> z;
    for (const auto& record : read_report(report).cases)
      for (const auto& tensor : record.verdict.tensors) z.push_back(tensor.stats.max_z);
    return z;
  };
  EXPECT_EQ(verdicts({}), verdicts({"--isolate"}));
}

}  // namespace
}  // namespace gdr2
