// SPDX-License-Identifier: Apache-2.0
// What the chunk form forms once, its forward and its backward both read.
#include <gtest/gtest.h>

#include <set>

#include "reference/emulate.hpp"
#include "reference/scattered.hpp"

namespace gdr2 {
namespace {

struct Run {
  const char* name;
  Values<double> (*of)(const Problem&, const Values<double>&, const Contract&, std::uint32_t seed);
};

class Auxiliaries : public testing::TestWithParam<std::tuple<Run, Format>> {};

// Two tokens of the key e_0, no decay: Y_0 = b_0 and Y_1 = b_1 (1 - b_0), which bf16 does not hold; all
// else is exact. From S_0 = e_0 e_0^T and v = 0 the forward's R_1 is -Y_1, and dS_0 of dS_C = e_0 e_0^T
// is 1 - Y_0 - Y_1: each tells the Y_1 that it read.
TEST_P(Auxiliaries, OfOneRunAreRoundedOnceForBothPasses) {
  const auto& [run, stored] = GetParam();
  const auto p = parse_problem("T=2 K=2 V=2 h0=1 ht=1 scale=1 dtype=bf16");
  const double b0 = 0.69921875, b1 = 0.61328125;
  Values<double> in;
  for (auto name : input_names(p)) in[name].assign(element_count(shape_of(p, name)), 0);
  in[Name::k] = {1, 0, 1, 0};
  in[Name::b] = {b0, 0, b1, 0};
  in[Name::h0][0] = in[Name::dht][0] = 1;
  auto contract = standard_contract(p.dtype);
  contract.auxiliary = stored;
  std::set<double> read;
  for (std::uint32_t seed = 0; seed < 64; ++seed) {
    const auto y = run.of(p, in, contract, seed);
    const double forward = -y.at(Name::R)[2], backward = 1 - b0 - y.at(Name::dh0)[0];
    EXPECT_EQ(forward, backward) << seed;
    EXPECT_NEAR(forward, b1 * (1 - b0), 0x1p-10);
    read.insert(forward);
  }
  EXPECT_EQ(read.size(), 2u) << "both neighbours of Y_1 are drawn";
}

INSTANTIATE_TEST_SUITE_P(
    Runs, Auxiliaries,
    testing::Combine(testing::Values(Run{"member",
                                         [](const Problem& p, const Values<double>& in,
                                            const Contract& c, std::uint32_t seed) {
                                           return emulate(p, in, c, RoundingMode::kStochastic, seed,
                                                          {Name::R});
                                         }},
                                     Run{"scattered",
                                         [](const Problem& p, const Values<double>& in,
                                            const Contract& c, std::uint32_t seed) {
                                           return emulate_scattered(p, in, c, seed, {Name::R});
                                         }}),
                     testing::Values(Format::kBF16, Format::kF32)),
    [](const auto& info) {
      return fmt::format("{}_{}", std::get<0>(info.param).name, to_string(std::get<1>(info.param)));
    });

}  // namespace
}  // namespace gdr2
