// SPDX-License-Identifier: Apache-2.0
#include "properties/timing/gate.hpp"

#include <gmock/gmock.h>

#include "properties/timing/work.hpp"
#include "tests/properties/tampered_kernel.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

TEST(CutShort, KeepsHeadsChannelsAndOptions) {
  const auto cut = [](const char* line) { return to_string(cut_short(parse_case(line))); };
  EXPECT_EQ(cut("B=8 T=4096 H=16 K=128 V=128 recipe=slow"), "T=100 H=16 K=128 V=128 recipe=slow");
  EXPECT_EQ(cut("T=70 H=4 HV=16 dtype=fp16 h0=1"), "T=70 H=4 HV=16 dtype=fp16 h0=1");
  EXPECT_EQ(cut("H=16 lens=1300,5,2048,963"), "H=16 lens=50,5,50");
}

TEST(ShortCase, OfARightKernelPasses) {
  for (const auto* line : {"T=70 H=2 HV=4 K=8 V=4 h0=1 gate=softplus", "H=3 K=8 V=4 lens=0,30,20 h0=1 layout=vk",
                           "T=20 H=2 K=8 V=4 view=fused l2norm=1 ht=0"}) {
    const auto verdict = check_short(find_kernel("cpu.recurrent"), parse_case(line));
    EXPECT_EQ(verdict.state, State::kPassed) << line << ": " << verdict.reason;
  }
}

TEST(ShortCase, IsJudgedInItsLastHeadToTheLastToken) {
  const TamperedKernel wrong([](const Problem&, Tensors&, Tensors& results) {
    for (auto name : {Name::o, Name::dk})
      if (const auto found = results.find(name); found != results.end())
        found->second.set(found->second.size() - 1, found->second.get(found->second.size() - 1) + 9);
  });
  const auto verdict = check_short(wrong, parse_case("T=70 H=3 K=8 V=4"));
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_THAT(verdict.reason, HasSubstr("sequence 0, key head 2"));
}

TEST(FirstTokens, OfARightKernelPassAtFullSize) {
  for (const auto* line : {"B=2 T=200 H=2 HV=4 K=8 V=4 h0=1 gate=softplus", "H=2 K=8 V=4 lens=0,180,20 h0=1 layout=vk",
                           "T=170 K=8 V=4 view=fused l2norm=1 ht=0"}) {
    const auto c = parse_case(line);
    const auto verdict = check_first_tokens(find_kernel("cpu.recurrent"), c.problem, make_inputs(c));
    EXPECT_EQ(verdict.state, State::kPassed) << line << ": " << verdict.reason;
  }
}

TEST(FirstTokens, OfTheLastHeadAreLookedAt) {
  const auto c = parse_case("B=2 T=200 H=2 HV=4 K=8 V=4");
  const TamperedKernel wrong([](const Problem& p, Tensors&, Tensors& results) {
    auto& o = results.at(Name::o);  // [B, T, HV, V]
    const auto element = ((p.T + 10) * p.HV + p.HV - 1) * p.V;  // second row, token 10, last head
    o.set(element, o.get(element) + 1);
  });
  const auto verdict = check_first_tokens(wrong, c.problem, make_inputs(c));
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_THAT(verdict.reason, HasSubstr("at full size, sequence 1, key head 1"));
}

TEST(Work, CountsEveryByteOnceAndTheBackwardsInputsAgain) {
  const auto p = parse_problem("T=10 H=2 K=4 V=3 ht=0 loss=o");  // q k b, g; v w o; do
  const double key = 10 * 2 * 4, value = 10 * 2 * 3;
  EXPECT_EQ(floor_bytes(p, Pass::kForward), 3 * 2 * key + 4 * key + 3 * 2 * value);
  EXPECT_EQ(floor_bytes(p, Pass::kForwardBackward),
            floor_bytes(p, Pass::kForward) + (3 * 2 * key + 4 * key + 3 * 2 * value) +
                (3 * 2 * key + 4 * key + 2 * 2 * value));
  EXPECT_EQ(operations(p, Pass::kForward), 7 * 10 * 2 * 12);
  EXPECT_EQ(operations(p, Pass::kForwardBackward), 27 * 10 * 2 * 12);
}

}  // namespace
}  // namespace gdr2
