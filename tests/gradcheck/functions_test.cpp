// SPDX-License-Identifier: Apache-2.0
// Every elementary function that draws inputs or stands in a CPU kernel, at every number that 16 bits
// can hold, in bf16 and in fp16, against 40 digits: the largest error in ulps of the result's format.
#include <gtest/gtest.h>

#include <functional>

#include "fixtures/portable_math.hpp"
#include "reference/emulate.hpp"
#include "reference/options.hpp"
#include "reference/tensor.hpp"

namespace gdr2 {
namespace {

/// All finite values of a 16-bit format.
std::vector<double> all_values(DType dtype) {
  std::vector<double> values;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto pattern = std::uint16_t(bits);
    const double x = load_element(reinterpret_cast<const std::byte*>(&pattern), dtype);
    if (std::isfinite(x)) values.push_back(x);
  }
  return values;
}

/// Distance in units of the last place of a format with `precision` bits and `least` as its smallest
/// normal exponent; 0 where both overflow.
double ulps(long double got, const Mpfr& wanted, int precision, int least, int largest) {
  if (wanted == 0) return got == 0 ? 0 : HUGE_VAL;
  int exponent = 0;
  frexp(wanted, &exponent);
  if (exponent - 1 > largest) return std::isinf(got) ? 0 : HUGE_VAL;
  const Mpfr unit = ldexp(Mpfr(1), std::max(exponent - 1, least) - precision + 1);
  return static_cast<double>(Mpfr(abs(Mpfr(got) - wanted) / unit));
}

double double_ulps(double got, const Mpfr& wanted) { return ulps(got, wanted, 53, -1022, 1023); }
double extended_ulps(long double got, const Mpfr& wanted) {
  return ulps(got, wanted, 64, -16382, 16383);
}

struct Worst {
  double ulps = 0, at = 0;
};

/// Over all values in the function's domain.
template <class Error>
Worst worst(const Error& error, double low = -HUGE_VAL) {
  Mpfr::default_precision(40);
  Worst w;
  for (const auto dtype : {DType::kBF16, DType::kF16})
    for (const double x : all_values(dtype))
      if (x >= low)
        if (const double e = error(x); !(e <= w.ulps)) w = {e, x};
  return w;
}

Mpfr softplus(const Mpfr& x) { return x > 0 ? Mpfr(x + log1p(exp(Mpfr(-x)))) : log1p(exp(x)); }
Mpfr sigmoid(const Mpfr& x) {
  return x > 0 ? Mpfr(1 / (1 + exp(Mpfr(-x)))) : Mpfr(exp(x) / (1 + exp(x)));
}

TEST(PortableMath, EveryFunctionAtEvery16BitNumber) {
  // The polynomials' own few ulps, as portable_math.hpp promises; composites add their steps, and
  // sigmoid and softplus keep the relative error of the exponential behind them.
  const struct {
    const char* name;
    double (*got)(double);
    std::function<Mpfr(const Mpfr&)> wanted;
    double low, allowed;
  } functions[] = {
      {"exp", portable::exp, [](const Mpfr& x) { return Mpfr(exp(x)); }, -HUGE_VAL, 3},
      {"log", portable::log, [](const Mpfr& x) { return Mpfr(log(x)); }, 0x1p-149, 4},
      {"log1p", portable::log1p, [](const Mpfr& x) { return Mpfr(log1p(x)); }, -0.99, 6},
      {"expm1", portable::expm1, [](const Mpfr& x) { return Mpfr(expm1(x)); }, -HUGE_VAL, 6},
      {"sigmoid", portable::sigmoid, sigmoid, -HUGE_VAL, 6},
      {"softplus", portable::softplus, softplus, -HUGE_VAL, 8},
  };
  for (const auto& f : functions) {
    const auto w = worst([&](double x) { return double_ulps(f.got(x), f.wanted(Mpfr(x))); }, f.low);
    EXPECT_TRUE(w.ulps <= f.allowed) << f.name << ": " << w.ulps << " ulp at " << w.at;
    RecordProperty(f.name, std::to_string(w.ulps));
  }
}

/// The gates of the CPU kernels form their values in the wider type, so an error of a few of its ulps
/// is far below the kernel's own rounding.
constexpr double kWideUlps = 4;

/// Rounded once from the wider type.
constexpr double kRounded = 0.51;

TEST(GateFunctions, SigmoidAtEvery16BitNumber) {
  const auto w = worst([](double x) { return double_ulps(options::sigmoid(x), sigmoid(Mpfr(x))); });
  EXPECT_TRUE(w.ulps <= kWideUlps) << w.ulps << " ulp at " << w.at;
  const auto wide = worst([](double x) {
    return extended_ulps(options::sigmoid(static_cast<long double>(x)), sigmoid(Mpfr(x)));
  });
  EXPECT_TRUE(wide.ulps <= kWideUlps) << wide.ulps << " ulp at " << wide.at;
}

TEST(GateFunctions, SoftplusAndItsSlopeAtEvery16BitNumber) {
  for (const auto& part : {true, false}) {
    const auto wanted = [&](double x) { return part ? softplus(Mpfr(x)) : sigmoid(Mpfr(x)); };
    const auto w = worst([&](double x) {
      const auto s = options::scaled_softplus(0.0, x);
      return double_ulps(part ? s.value : s.slope, wanted(x));
    });
    EXPECT_TRUE(w.ulps <= kWideUlps) << w.ulps << " ulp at " << w.at;
    const auto wide = worst([&](double x) {
      const auto s = options::scaled_softplus(0.0L, static_cast<long double>(x));
      return extended_ulps(part ? s.value : s.slope, wanted(x));
    });
    EXPECT_TRUE(wide.ulps <= kWideUlps) << wide.ulps << " ulp at " << wide.at;
  }
}

/// exp(g) as a kernel under the contract forms it: what a token that writes nothing leaves of a state of
/// ones, in chunks or token by token.
std::vector<double> decays(const Contract& contract, Format dtype, std::vector<double> g) {
  Problem problem;
  problem.dtype = dtype;
  problem.T = problem.H = problem.HV = problem.V = 1;
  problem.K = 128;
  problem.B = (std::ssize(g) + problem.K - 1) / problem.K;
  problem.g_dtype = problem.state_dtype();
  problem.h0 = true;
  problem.backward = false;
  g.resize(problem.B * problem.K, 0);
  const std::vector<double> zeros(g.size(), 0), zero(problem.B, 0);
  return emulate(problem,
                 {{Name::q, zeros},
                  {Name::k, zeros},
                  {Name::b, zeros},
                  {Name::v, zero},
                  {Name::w, zero},
                  {Name::g, g},
                  {Name::h0, std::vector<double>(g.size(), 1)}},
                 contract, RoundingMode::kNearest, 0)
      .at(Name::ht);
}

TEST(KernelFunctions, TheDecayOfAStateAtEvery16BitNumber) {
  Mpfr::default_precision(40);
  std::vector<double> g;
  for (const auto dtype : {DType::kBF16, DType::kF16})
    for (const double x : all_values(dtype))
      if (x <= 0) g.push_back(x);
  for (const auto dtype : {Format::kF32, Format::kF64})
    for (const auto& contract : {standard_contract(dtype), token_contract(dtype)}) {
      const auto got = decays(contract, dtype, g);
      Worst w;
      for (std::size_t i = 0; i < g.size(); ++i) {
        const Mpfr wanted = exp(Mpfr(g[i]));
        const double e = dtype == Format::kF32 ? ulps(got[i], wanted, 24, -126, 127)
                                               : double_ulps(got[i], wanted);
        if (!(e <= w.ulps)) w = {e, g[i]};
      }
      EXPECT_TRUE(w.ulps <= kRounded)
          << to_string(contract) << ": " << w.ulps << " ulp at " << w.at;
    }
}

TEST(GateFunctions, TheInverseNormAtEvery16BitNumber) {
  const Exact<double> ar;
  const auto w = worst([&](double x) {
    RowVector<double> row(1);
    row << x;
    const Mpfr square = Mpfr(x) * Mpfr(x) + Mpfr(1) / Mpfr(1000000);
    return double_ulps(options::inverse_norm(ar, row), 1 / sqrt(square));
  });
  EXPECT_TRUE(w.ulps <= kWideUlps) << w.ulps << " ulp at " << w.at;
}

}  // namespace
}  // namespace gdr2
