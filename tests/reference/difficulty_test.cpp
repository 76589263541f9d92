// SPDX-License-Identifier: Apache-2.0
#include "reference/difficulty.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gdr2 {
namespace {

/// Inputs of a problem, every element of a tensor as the function says.
template <class Function>
Tensors filled(const Problem& problem, const Function& value) {
  Tensors tensors;
  for (auto name : input_names(problem)) {
    Tensor tensor(DType::kF64, shape_of(problem, name));
    for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, value(name, i));
    tensors[name] = tensor;
  }
  return tensors;
}

TEST(Difficulty, OfNoTokensIsNone) {
  const auto p = parse_problem("lens=0 K=2 V=2 dtype=fp64");
  EXPECT_EQ(difficulty_of(p, filled(p, [](auto, auto) { return 1.0; })), Difficulty{});
}

TEST(Difficulty, SpansTheDecayOfOneChannelOverAChunk) {
  const auto p = parse_problem("T=70 K=2 V=1 dtype=fp64");  // a chunk of 64 and one of 6
  const auto inputs = filled(p, [](Name name, auto i) { return name == Name::g ? (i % 2 ? -0.5 : -0.25) : 0.0; });
  EXPECT_DOUBLE_EQ(difficulty_of(p, inputs).decay_span, 32);
}

TEST(Difficulty, OfForgettingIsInfinite) {
  const auto p = parse_problem("T=3 K=1 V=1 dtype=fp64");
  const auto inputs = filled(p, [](Name name, auto i) { return name == Name::g && i == 1 ? -HUGE_VAL : 0.0; });
  EXPECT_EQ(difficulty_of(p, inputs).decay_span, HUGE_VAL);
  EXPECT_EQ(difficulty_of(p, inputs).condition, 1);
}

TEST(Difficulty, KnowsTheConditionOfTheSolve) {
  // One channel, k = b = 1, g = 0: I + T is the lower triangle of ones, its inverse has 1 and -1 on two
  // diagonals. 1-norms T and 2.
  const auto p = parse_problem("T=8 K=1 V=1 dtype=fp64");
  const auto inputs = filled(p, [](Name name, auto) { return name == Name::g ? 0.0 : 1.0; });
  EXPECT_DOUBLE_EQ(difficulty_of(p, inputs).condition, 16);
}

TEST(Difficulty, SeesTheDecayBetweenTokens) {
  // T_10 = exp(g_1) alone: I + T = [1 0; a 1], 1-norms 1 + a both.
  const auto p = parse_problem("T=2 K=1 V=1 dtype=fp64");
  const auto inputs = filled(p, [](Name name, auto) { return name == Name::g ? -1.0 : 1.0; });
  EXPECT_DOUBLE_EQ(difficulty_of(p, inputs).condition, std::pow(1 + std::exp(-1), 2));
}

TEST(Difficulty, AppliesTheOptionsOfTheKernel) {
  const auto p = parse_problem("T=2 K=1 V=1 dtype=fp64 neg_eigval=1 l2norm=1");
  const auto inputs = filled(p, [](Name name, auto) { return name == Name::g ? 0.0 : name == Name::b ? 0.5 : 7.0; });
  EXPECT_NEAR(difficulty_of(p, inputs).condition, 4, 1e-6);  // k is normalised, b doubled
}

}  // namespace
}  // namespace gdr2
