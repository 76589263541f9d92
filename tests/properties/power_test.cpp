// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "kernels/fault.hpp"
#include "properties/judge/check.hpp"
#include "properties/laws/placed_call.hpp"
#include "properties/power/channel_order.hpp"
#include "properties/power/hunt.hpp"
#include "properties/power/mutant.hpp"
#include "properties/power/perturbation.hpp"
#include "properties/power/public_rules.hpp"
#include "properties/power/random_case.hpp"

namespace gdr2::power {
namespace {

Tensors results_of(const Kernel& kernel, const Case& c) {
  return laws::run(kernel, {c.problem, make_inputs(c)});
}

std::optional<std::string> difference(const Problem& problem, const Tensors& got, const Tensors& want) {
  const auto& host = memory_space(GDR2_HOST);
  return laws::difference(problem, placed(host, got), placed(host, want));
}

TEST(Faults, HaveANameEachAndThereAreEnough) {
  std::set<std::string> names;
  for (const auto& fault : faults()) EXPECT_TRUE(names.insert(fault.name).second) << fault.name;
  EXPECT_GE(names.size() - equivalent_faults().size(), 240u);
  for (const auto& [name, reason] : equivalent_faults()) EXPECT_TRUE(names.contains(name)) << name;
  EXPECT_THROW(find_fault("none"), std::runtime_error);
}

TEST(Faults, CoverForwardBackwardAndDecode) {
  std::map<std::string, int> count;
  for (const auto& fault : faults()) ++count[fault.name.substr(0, fault.name.find('.'))];
  for (auto part : {"forward", "backward", "decode", "head", "call", "result", "contract"})
    EXPECT_GE(count[part], 15) << part;
}

class MutantOfNothing : public ::testing::TestWithParam<Form> {};

TEST_P(MutantOfNothing, IsTheRightKernelToTheBit) {
  const Fault none{.name = "none", .form = GetParam(), .change = OnHead{[](Head<float>&) {}}};
  const auto c = parse_case("lens=3,0,70 HV=2 K=16 V=24 h0=1 gate=softplus l2norm=1 recipe=mixed");
  const auto want = results_of(right_kernel(GetParam()), c);
  EXPECT_EQ(difference(c.problem, results_of(*make_mutant(none), c), want), std::nullopt);
}
INSTANTIATE_TEST_SUITE_P(Forms, MutantOfNothing, ::testing::Values(Form::kChunk, Form::kToken));

TEST(Hunt, ACaughtKernelNamesItsCaseAndIsLeftAloneAfterwards) {
  const auto mutant = make_mutant(find_fault("forward.A_identity"));
  std::vector<Prey> prey{{mutant.get(), &right_kernel(Form::kChunk), false, {}, {}, 0, 0, {}}};
  const auto c = parse_case("K=16 V=16 recipe=correlated");
  hunt(c, prey);
  ASSERT_TRUE(prey[0].caught);
  EXPECT_EQ(prey[0].caught->state, State::kFailed);
  EXPECT_EQ(prey[0].line, to_string(c));
  hunt(parse_case("T=5"), prey);
  EXPECT_EQ(prey[0].judged, 1);
  EXPECT_EQ(prey[0].line, to_string(c));
}

TEST(Hunt, ACaseWithoutTheFaultIsNotJudged) {
  const auto tail = make_mutant(find_fault("forward.padding_decays"));
  std::vector<Prey> prey{{tail.get(), &right_kernel(Form::kChunk), false, {}, {}, 0, 0, {}}};
  hunt(parse_case("T=64 K=16 V=16 pass=fwd"), prey);
  EXPECT_EQ(prey[0].differing, 0);
  EXPECT_EQ(prey[0].judged, 0);
  hunt(parse_case("T=60 K=16 V=16 pass=fwd"), prey);
  EXPECT_TRUE(prey[0].caught);
}

/// Ends its call in this way.
class Ending : public Kernel {
 public:
  explicit Ending(KernelFault::Kind kind) : Kernel("ending", ""), kind_(kind) {}

 private:
  std::optional<std::string> do_unsupported(const Problem&) const override { return std::nullopt; }
  Contract do_contract(const Problem& p) const override { return right_kernel(Form::kChunk).contract(p); }
  void do_forward(const Problem&, const Tensors&, Tensors&) const override { throw KernelFault(kind_, "ended"); }
  void do_backward(const Problem&, const Tensors&, Tensors&) const override {}

  KernelFault::Kind kind_;
};

TEST(Hunt, AKernelThatHangsOrCrashesIsCaughtLikeOneThatIsWrong) {
  for (const auto& [kind, state] : {std::pair{KernelFault::Kind::kTimedOut, State::kTimedOut},
                                    std::pair{KernelFault::Kind::kCrashed, State::kCrashed}}) {
    const Ending kernel(kind);
    std::vector<Prey> prey{{&kernel, &right_kernel(Form::kChunk), false, {}, {}, 0, 0, {}}};
    hunt(parse_case("T=5 K=16 V=16 pass=fwd"), prey);
    ASSERT_TRUE(prey[0].caught) << to_string(state);
    EXPECT_EQ(prey[0].caught->state, state);
  }
}

TEST(Perturbation, OfTrueResultsIsRejectedWhateverItIs) {
  for (const auto* line : {"T=20 H=2 K=16 V=16 h0=1", "T=20 H=2 K=16 V=16 dtype=fp32 recipe=onehot scale=1"})
    for (const auto& p : perturb(find_kernel("cpu.chunk"), parse_case(line), 8))
      EXPECT_TRUE(p.rejected) << line << ": " << p.name << " of " << to_string(p.tensor) << ", " << p.size;
}

TEST(Perturbation, SaysWhichPublicRulesTellItFromTheRightResults) {
  std::map<std::string, std::set<std::string>> telling;
  for (const auto& p : perturb(find_kernel("cpu.chunk"), parse_case("T=20 H=2 K=16 V=16 h0=1"), 8))
    for (const auto& rule : p.rules) telling[p.name].insert(rule);
  EXPECT_EQ(telling["nan"].size(), public_rules().size());
  EXPECT_TRUE(telling["zero"].contains("fla_strict"));
  EXPECT_FALSE(telling["one_element"].contains("attention_gym"));
}

TEST(ChannelOrder, OfExactDataChangesNoBit) {
  const auto c = parse_case("T=40 K=16 V=24 h0=1 scale=1 layout=vk recipe=onehot pass=fwd");
  const auto& kernel = find_kernel("cpu.chunk");
  const laws::Call call{c.problem, make_inputs(c)};
  const auto want = run_in_order(kernel, call, 0);
  EXPECT_EQ(difference(c.problem, run_in_order(kernel, call, 1), want), std::nullopt);
}

TEST(RandomCase, IsValidAndAFunctionOfItsNumber) {
  std::set<std::string> lines;
  for (int n = 0; n < 200; ++n) {
    const auto line = to_string(random_case(Format::kF16, n));
    EXPECT_EQ(to_string(parse_case(line)), line);
    EXPECT_EQ(to_string(random_case(Format::kF16, n)), line);
    lines.insert(line);
  }
  EXPECT_EQ(lines.size(), 200u);
}

TEST(PublicRules, AcceptTheTruthAndRejectNaN) {
  const std::vector<double> y{1, -2, 0.5}, nan{1, std::numeric_limits<double>::quiet_NaN(), 0.5};
  for (const auto& rule : public_rules()) {
    EXPECT_TRUE(rule.accepts(Name::o, y, y)) << rule.name;
    EXPECT_FALSE(rule.accepts(Name::o, nan, y)) << rule.name;
  }
}

TEST(PublicRules, TheCiFormAcceptsZeroWhereNoErrorExceedsThreeTenths) {
  const std::vector<double> y{0.2, -0.29, 0.1}, zero(3, 0.0);
  const auto accepts = [&](const std::string& name) {
    for (const auto& rule : public_rules())
      if (rule.name == name) return rule.accepts(Name::o, zero, y);
    return false;
  };
  EXPECT_TRUE(accepts("fla_ci"));
  EXPECT_FALSE(accepts("fla_strict"));
}

}  // namespace
}  // namespace gdr2::power
