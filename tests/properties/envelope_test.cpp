// SPDX-License-Identifier: Apache-2.0
// What the envelope promises: no excuse where no rounding happens, the size of the contract's errors
// where it does, and an honest refusal where the contract itself overflows.
#include <gtest/gtest.h>

#include <cmath>

#include "fixtures/case.hpp"
#include "properties/judge/envelope.hpp"
#include "reference/emulate.hpp"

namespace gdr2 {
namespace {

Tensors small_integers(const Problem& p) {
  Tensors in;
  for (auto name : input_names(p)) {
    Tensor t(dtype_of(p, name), shape_of(p, name));
    for (std::int64_t i = 0; i < t.size(); ++i) {
      const auto n = (i * 7 + int(name)) % 5;
      if (name == Name::g) t.set(i, n == 0 ? -HUGE_VAL : 0);
      else if (name == Name::b || name == Name::w) t.set(i, double(n % 2));
      else if (name == Name::k) t.set(i, i % p.K == (i / p.K) % p.K ? 1 : 0);
      else t.set(i, double(n - 2));
    }
    in[name] = t;
  }
  return in;
}

TEST(Envelope, LeavesNoRoomWhereEveryOperationIsExact) {
  for (const char* dtype : {"fp64", "fp32", "tf32", "bf16", "fp16"}) {
    const auto p = parse_problem(fmt::format("T=70 K=8 V=4 h0=1 scale=1 dtype={}", dtype));
    const auto e = make_envelope(p, small_integers(p), standard_contract(p.dtype));
    for (const auto& [name, sigma] : e.sigma)
      for (std::size_t i = 0; i < sigma.size(); ++i)
        ASSERT_EQ(sigma[i], 0) << dtype << " " << to_string(name) << " " << i;
  }
}

double rms(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  return std::sqrt(sum / double(x.size()));
}

TEST(Envelope, HasTheSizeOfTheErrorsOfRoundingToNearest) {
  for (const char* dtype : {"fp64", "fp32", "tf32", "bf16", "fp16"}) {
    const auto c = parse_case(fmt::format("T=128 K=32 V=32 h0=1 recipe=slow dtype={}", dtype));
    const auto in = make_inputs(c);
    const auto contract = standard_contract(c.problem.dtype);
    const auto e = make_envelope(c.problem, in, contract);
    auto got = emulate(c.problem, to_values<double>(in), contract);
    for (auto& [name, x] : got) {
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = (x[i] - e.reference.at(name)[i]) / e.sigma.at(name)[i];
      // Nearest has half the variance of stochastic rounding: 0.71, less what the row pooling and the
      // output's rounding add. Where sums dominate (fp32, fp64) the one fixed order of the kernel
      // may lie above the mean over orders.
      const bool sums_dominate = contract.operand == contract.accumulator;
      EXPECT_GT(rms(x), 0.35) << dtype << " " << to_string(name);
      EXPECT_LT(rms(x), sums_dominate ? 1.25 : 1.0) << dtype << " " << to_string(name);
    }
  }
}

TEST(Emulation, WithAuxiliariesHasTheSameValuesWhereLittleIsRounded) {
  const auto c = parse_case("T=130 K=32 V=16 h0=1 dtype=fp64 recipe=correlated");
  const auto in = to_values<double>(make_inputs(c));
  auto contract = standard_contract(Format::kF64);
  const auto formed_at_once = emulate(c.problem, in, contract);
  contract.auxiliary = Format::kF64;
  for (const auto& [name, x] : emulate(c.problem, in, contract)) {
    const auto& y = formed_at_once.at(name);
    auto difference = x;
    for (std::size_t i = 0; i < x.size(); ++i) difference[i] -= y[i];
    EXPECT_LT(rms(difference), 1e-12 * rms(y)) << to_string(name);
  }
}

// Where nearly the same key comes again, Y is a small difference of rows of Ebar, and fp16 cannot keep
// it: what a kernel that goes through Y loses is in its envelope, forward and backward.
TEST(Envelope, OfAuxiliariesKnowsWhatAShortExponentTakesFromY) {
  const auto c = parse_case(
      "H=2 K=48 lens=5,100 dtype=fp16 scale=1 ht=0 loss=ht l2norm=1 recipe=mixed");
  const auto in = make_inputs(c);
  auto contract = standard_contract(Format::kF16);
  contract.auxiliary = Format::kF32;
  const auto e = make_envelope(c.problem, in, contract);
  const auto got = emulate(c.problem, to_values<double>(in), contract);
  for (const auto& [name, x] : got)
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_LE(std::abs(x[i] - e.reference.at(name)[i]), 9 * e.sigma.at(name)[i])
          << to_string(name) << " " << i;
}

TEST(Envelope, ShrinksWithThePrecisionOfTheContract) {
  const auto c = parse_case("T=64 K=16 V=16 dtype=fp32");
  const auto in = make_inputs(c);
  double last = HUGE_VAL;
  for (auto format : {Format::kBF16, Format::kTF32, Format::kF32}) {
    const auto e = make_envelope(c.problem, in, standard_contract(format));
    const double size = rms(e.sigma.at(Name::o));
    EXPECT_LT(size, last / 4);
    last = size;
  }
}

TEST(Envelope, RefusesACaseInWhichTheContractOverflows) {
  const auto p = parse_problem("T=4 K=2 V=2 dtype=fp16 pass=fwd scale=1 h0=1");
  auto in = small_integers(p);
  for (std::int64_t i = 0; i < in[Name::h0].size(); ++i) in[Name::h0].set(i, 1e6);  // beyond fp16
  for (std::int64_t i = 0; i < in[Name::g].size(); ++i) in[Name::g].set(i, 0);
  EXPECT_THROW(make_envelope(p, in, standard_contract(p.dtype)), EnvelopeOverflow);
}

}  // namespace
}  // namespace gdr2
