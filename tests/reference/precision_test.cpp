// SPDX-License-Identifier: Apache-2.0
// How far the fp64 reference can be trusted, and that the chunk form is the token recurrence:
// fp64 against 100 digits over 256 tokens, random and hard; the two forms against each other in 100
// digits; MPFR at two run-time precisions against 100 digits.
#include <gtest/gtest.h>

#include "reference/chunk_form.hpp"
#include "reference/run.hpp"
#include "tests/reference/draws.hpp"

namespace gdr2 {
namespace {

struct Hard {
  const char* name;
  const char* options;
  bool correlated;    ///< keys near one direction
  double g_low, g_high;
  double forget;      ///< share of g that is -inf
  double b_high;
};

constexpr Hard kHard[] = {
    {"Random", "", false, -5, -0.1, 0, 1},
    {"SlowDecayCorrelatedKeys", "h0=1", true, -1e-3, -1e-5, 0, 1},
    {"ForgetAll", "h0=1", false, -1, -0.01, 0.05, 1},
    {"NegativeEigenvalues", "h0=1", true, -1e-2, -1e-4, 0, 2},
    {"EveryOption", "HV=2 h0=1 l2norm=1 neg_eigval=1 gate=softplus layout=vk", true, -3, 2, 0, 1},
};

void PrintTo(const Hard& hard, std::ostream* out) { *out << hard.name; }

double draw(const Problem& p, const Hard& hard, Name name, std::int64_t i) {
  const auto u = [&](double low, double high) { return draws::uniform(3, int(name), i, low, high); };
  switch (name) {
    case Name::q: case Name::k: {
      const double common = draws::uniform(3, 99, i % p.K, -1, 1);
      return (hard.correlated ? common + 0.1 * u(-1, 1) : u(-1, 1)) * std::sqrt(3.0 / double(p.K));
    }
    case Name::g:
      return u(0, 1) < hard.forget ? -HUGE_VAL : u(hard.g_low, hard.g_high);
    case Name::b: return u(0, hard.b_high);
    case Name::w: return u(0, 1);
    default: return u(-1, 1);
  }
}

/// Keys are cut to unit norm unless the kernel does it: b k k <= 2 keeps the recurrence stable.
Values<double> draw_all(const Problem& p, const Hard& hard) {
  Values<double> in;
  for (auto name : input_names(p)) {
    auto& x = in[name];
    x.resize(element_count(shape_of(p, name)));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = draw(p, hard, name, i);
  }
  if (!p.l2norm)
    for (auto first = in[Name::k].begin(); first != in[Name::k].end(); first += p.K) {
      const double norm = std::sqrt(std::inner_product(first, first + p.K, first, 0.0));
      for (auto x = first; x != first + p.K; ++x) *x /= norm;
    }
  return in;
}

template <class A, class B>
B relative_norm(const std::vector<A>& x, const std::vector<B>& y) {
  B error = 0, size = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const B difference = B(x[i]) - y[i];
    error += difference * difference;
    size += y[i] * y[i];
  }
  using std::sqrt;
  return error == 0 ? B(0) : B(sqrt(error / size));
}

class Precision : public testing::TestWithParam<Hard> {};

TEST_P(Precision, DoubleIsWithin1em13OfAHundredDigitsOver256Tokens) {
  const auto p = parse_problem(fmt::format("T=256 K=12 V=10 dtype=fp64 {}", GetParam().options));
  const auto in = draw_all(p, GetParam());
  const auto truth = reference<Digits100>(p, convert<Digits100>(in));
  for (const auto& [name, x] : reference<double>(p, in)) {
    const double error = double(relative_norm(x, truth.at(name)));
    RecordProperty(std::string(to_string(name)), fmt::format("{:.3g}", error));
    EXPECT_LE(error, 1e-13) << to_string(name);
  }
}

TEST_P(Precision, TheChunkFormIsTheTokenRecurrenceTo90Digits) {
  const auto p = parse_problem(fmt::format("T=83 K=5 V=3 dtype=fp64 {}", GetParam().options));
  const auto in = convert<Digits100>(draw_all(p, GetParam()));
  auto chunk = run_forward(p, in, Exact<Digits100>(), ChunkRule());
  chunk.merge(run_backward(p, in, Exact<Digits100>(), ChunkRule()));
  for (const auto& [name, x] : reference<Digits100>(p, in))
    EXPECT_LE(relative_norm(chunk.at(name), x), Digits100("1e-90")) << to_string(name);
}

TEST_P(Precision, MpfrAtRunTimePrecisionConvergesToAHundredDigits) {
  const auto p = parse_problem(fmt::format("T=9 K=4 V=3 dtype=fp64 {}", GetParam().options));
  const auto in = draw_all(p, GetParam());
  const auto truth = reference<Digits100>(p, convert<Digits100>(in));
  for (const unsigned digits : {40u, 80u}) {
    Mpfr::default_precision(digits);
    for (const auto& [name, x] : reference<Mpfr>(p, convert<Mpfr>(in))) {
      std::vector<Digits100> y;
      for (const auto& value : x) y.emplace_back(value.str());
      EXPECT_LE(relative_norm(y, truth.at(name)), pow(Digits100(10), 4 - int(digits)))
          << to_string(name) << " at " << digits << " digits";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, Precision, testing::ValuesIn(kHard),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace gdr2
