// SPDX-License-Identifier: Apache-2.0
// A few accused elements are judged by a larger ensemble: it clears a right kernel that 16 members could
// not explain, and clears nobody else.
#include "properties/judge/second_look.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "properties/judge/check.hpp"
#include "properties/judge/tolerances.hpp"
#include "properties/laws/law_run.hpp"
#include "properties/power/envelope_memo.hpp"
#include "reference/emulate.hpp"
#include "reference/scattered.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

/// Two roundings to tf32 make up one element of dv and dw; in all 16 members they cancel.
constexpr const char* kUnlucky =
    "B=2 T=61 H=2 K=16 V=16 dtype=tf32 h0=1 view=padded recipe=edge_5.545 seed=217";

/// One-hot keys write equal values that cancel; the scale is not exact, so each of them rounds.
constexpr const char* kCancelling =
    "H=2 K=32 V=32 lens=45,12 dtype=fp16 h0=1 loss=o view=padded recipe=onehot seed=30000008";

CheckOptions elements_only() {
  return {.local = false, .statistics = false, .contract = false, .diagnosis = false};
}

TEST(SecondLook, ClearsARightKernelThatTheFirstAccuses) {
  const auto verdict = check(find_kernel("cpu.chunk"), parse_case(kUnlucky), elements_only());
  EXPECT_EQ(verdict.state, State::kPassed) << verdict.reason;
  ASSERT_EQ(verdict.notes.size(), 1u);
  EXPECT_THAT(verdict.notes[0], HasSubstr("elements are beyond what 16 members explain"));
}

TEST(SecondLook, CondemnsOneElementJustOverTheLimit) {
  const auto& kernel = find_kernel("cpu.chunk");
  for (const char* line :
       {"T=20 H=2 K=16 V=16 dtype=tf32 h0=1", "T=20 K=16 V=16 dtype=fp32", kUnlucky}) {
    const auto c = parse_case(line);
    const auto contract = kernel.contract(c.problem);
    const auto inputs = make_inputs(c);
    const auto right = laws::run(kernel, {c.problem, inputs});
    EnvelopeMemo memo;
    const auto& first = memo.get(c.problem, inputs, contract);
    const auto& second = memo.get(c.problem, inputs, contract, {}, Look::kSecond);
    auto options = elements_only();
    options.envelope = memo.source();
    for (auto name : {Name::o, Name::dv, Name::dg})
      for (const std::size_t i : {3, 100, 217})
        for (const double times : {0.9, 1.001}) {
          auto results = right;
          results[name] = right.at(name).clone();
          const double y = first.reference.at(name)[i];
          const double sigma = std::max(first.sigma.at(name)[i], second.sigma.at(name)[i]);
          const double limit = tolerance::z_of(contract, name) * sigma;
          auto value = float(y + std::copysign(times * limit, y));
          if (times > 1 && !(std::fabs(value - y) > limit))
            value = std::nextafter(value, std::copysign(HUGE_VALF, value));
          results[name].set(std::int64_t(i), value);
          const auto verdict = judge_results(c, contract, results, options);
          EXPECT_EQ(verdict.state, times > 1 ? State::kFailed : State::kPassed)
              << line << " " << to_string(name) << " " << i << " " << verdict.reason;
        }
  }
}

TEST(SecondLook, ClearsAKernelThatRoundsEqualValuesEachByItself) {
  const auto c = parse_case(kCancelling);
  const auto contract = standard_contract(c.problem.dtype);
  const auto inputs = make_inputs(c);
  const auto first = make_envelope(c.problem, inputs, contract);
  const auto values = emulate_scattered(c.problem, to_values<double>(inputs), contract, 1001);
  std::int64_t inexact = 0, last = 0;  // elements of dv, where the first look knows of no error
  Tensors results;
  for (const auto& [name, x] : values) {
    results[name] = Tensor(dtype_of(c.problem, name), shape_of(c.problem, name));
    results[name].assign(x);
  }
  for (std::int64_t i = 0; i < results[Name::dv].size(); ++i)
    if (first.sigma.at(Name::dv)[i] == 0 && results[Name::dv].get(i) != first.reference.at(Name::dv)[i]) ++inexact, last = i;
  ASSERT_GT(inexact, 0) << "the case shows nothing";
  const auto verdict = judge_results(c, contract, results, elements_only());
  EXPECT_EQ(verdict.state, State::kPassed) << verdict.reason;
  results[Name::dv].set(last, 0.01);
  EXPECT_EQ(judge_results(c, contract, results, elements_only()).state, State::kFailed);
}

TEST(SecondLook, ClearsAKernelThatSplitsDecaysAtOtherBlocks) {
  // Keys are one-hot, of length all but 1, and gates are shut or e^-5: in blocks of 8 rows hardly an operand rounds,
  // in blocks of 16 one is e^-10.
  const auto c = parse_case("H=2 K=24 V=48 lens=22,26 dtype=tf32 h0=1 ht=0 loss=ht layout=vk gate=lower_bound l2norm=1 "
                            "neg_eigval=1 recipe=onehot seed=20000035");
  auto blocks_of_8 = standard_contract(c.problem.dtype), blocks_of_16 = blocks_of_8;
  blocks_of_8.direct_rows = 0, blocks_of_16.direct_rows = 16;
  const auto inputs = make_inputs(c);
  Tensors results;
  for (const auto& [name, x] : emulate(c.problem, to_values<double>(inputs), blocks_of_16)) {
    results[name] = Tensor(dtype_of(c.problem, name), shape_of(c.problem, name));
    results[name].assign(x);
  }
  const auto verdict = judge_results(c, blocks_of_8, results, elements_only());
  EXPECT_EQ(verdict.state, State::kPassed) << verdict.reason;
  EXPECT_THAT(verdict.notes, testing::Contains(HasSubstr("beyond what 16 members explain")));
}

TEST(SecondLook, LeavesExactDataExact) {
  const auto c = parse_case("T=70 H=2 K=16 V=16 h0=1 scale=1 recipe=onehot");
  const auto contract = standard_contract(c.problem.dtype);
  const auto inputs = make_inputs(c);
  for (const auto look : {Look::kScattered, Look::kSecond})
    for (const auto& [name, sigma] : make_envelope(c.problem, inputs, contract, {}, look).sigma)
      EXPECT_THAT(sigma, testing::Each(0.0)) << to_string(name);
}

/// Every element of o is 1 with sigma 1; a second look finds `second`.
struct Toy {
  Evidence e{
      parse_problem("T=8 K=4 V=4 pass=fwd ht=0"), standard_contract(Format::kBF16), {}, {}, {}, {}};
  double second;
  int looks = 0;
  Look last{};

  explicit Toy(double sigma) : second(sigma) {
    e.envelope.reference[Name::o] = e.values[Name::o] = std::vector<double>(64, 1);
    e.envelope.sigma[Name::o] = std::vector<double>(64, 1);
  }
  std::int64_t look() {
    return look_again(e, {}, [this](const auto&, const auto&, const auto&, const auto&, Look look) {
      last = look;
      ++looks;
      Envelope envelope;
      envelope.sigma[Name::o] = std::vector<double>(64, second);
      return envelope;
    });
  }
};

TEST(SecondLook, RaisesTheSigmaOfAccusedElementsAlone) {
  Toy toy(3);
  toy.e.values[Name::o][5] = 20;
  EXPECT_EQ(toy.look(), 1);
  EXPECT_EQ(toy.e.envelope.sigma[Name::o][5], 3);
  EXPECT_EQ(toy.e.envelope.sigma[Name::o][6], 1);
}

TEST(SecondLook, NeverLowersASigma) {
  Toy toy(0.1);
  toy.e.values[Name::o][5] = 20;
  EXPECT_EQ(toy.look(), 0);
  EXPECT_EQ(toy.e.envelope.sigma[Name::o][5], 1);
}

TEST(SecondLook, IsTakenForAFewElementsOnly) {
  Toy none(3), few(3), many(3);
  for (std::size_t i = 0; i < 8; ++i) few.e.values[Name::o][i] = 20;
  for (std::size_t i = 0; i < 9; ++i) many.e.values[Name::o][i] = 20;
  none.look(), few.look(), many.look();
  EXPECT_EQ(none.looks, 0);
  EXPECT_EQ(few.looks, 1);
  EXPECT_EQ(few.last, Look::kSecond);
  EXPECT_EQ(many.looks, 0);
}

TEST(SecondLook, IsTakenForAnyNumberThatMustBeExact) {
  Toy toy(30);
  for (std::size_t i = 0; i < 20; ++i) toy.e.values[Name::o][i] = 20;
  for (std::size_t i = 0; i < 10; ++i) toy.e.envelope.sigma[Name::o][i] = 0;
  EXPECT_EQ(toy.look(), 10);
  EXPECT_EQ(toy.last, Look::kScattered);
  EXPECT_EQ(toy.e.envelope.sigma[Name::o][9], 30);
  EXPECT_EQ(toy.e.envelope.sigma[Name::o][10], 1);
}

TEST(SecondLook, IsNoMatterOfNaN) {
  Toy toy(3);
  toy.e.values[Name::o][5] = NAN;
  EXPECT_EQ(toy.look(), 0);
  EXPECT_EQ(toy.looks, 0);
}

TEST(Scores, MayRoundOnceWhereNoDrawShowedIt) {
  // Sums of products of bf16 numbers: one order of 200 rounds at all, and the kernel's is one of them.
  const auto c = parse_case(
      "T=96 H=2 HV=4 K=48 V=32 gdtype=bf16 h0=1 ht=0 loss=ht gate=lower_bound neg_eigval=1 "
      "pass=fwd");
  const auto verdict = check(find_kernel("cpu.chunk"), c, elements_only());
  EXPECT_EQ(verdict.state, State::kPassed) << verdict.reason;
  for (const auto& tensor : verdict.tensors)
    if (tensor.stats.name == Name::Aqk) EXPECT_LT(tensor.stats.max_z, 8);
}

}  // namespace
}  // namespace gdr2
