// SPDX-License-Identifier: Apache-2.0
// The token recurrence against cases of one to three tokens worked by hand in exact rationals, and
// its memory: checkpoints give the same bits as a state kept for every token.
#include <gtest/gtest.h>

#include <boost/rational.hpp>
#include <initializer_list>

#include "reference/delta_rule.hpp"
#include "tests/reference/draws.hpp"

using Fraction = boost::rational<std::int64_t>;

template <>
struct Eigen::NumTraits<Fraction> : Eigen::GenericNumTraits<Fraction> {
  using Real = Fraction;
  using NonInteger = Fraction;
  using Nested = Fraction;
  enum { RequireInitialization = 1, ReadCost = 2, AddCost = 9, MulCost = 9 };
  static int digits10() { return 0; }  // exact
};

namespace gdr2 {
namespace {

Fraction f(int numerator, int denominator = 1) { return Fraction(numerator, denominator); }

Matrix<Fraction> rows(std::initializer_list<std::initializer_list<Fraction>> values) {
  Matrix<Fraction> m(values.size(), values.begin()->size());
  Eigen::Index i = 0;
  for (const auto& row : values) {
    Eigen::Index j = 0;
    for (const auto& x : row) m(i, j++) = x;
    ++i;
  }
  return m;
}

TEST(TokenRecurrence, OneTokenDecaysErasesWritesAndReadsAsWorkedByHand) {
  const Head<Fraction> x{.q = rows({{3, -2}}),
                         .k = rows({{f(1, 2), f(1, 3)}}),
                         .b = rows({{1, f(1, 2)}}),
                         .g = {},
                         .alpha = rows({{f(1, 2), f(1, 4)}}),
                         .v = rows({{3}}),
                         .w = rows({{f(1, 3)}}),
                         .S0 = rows({{2}, {4}}),
                         .scale = f(1, 2)};
  // Sbar = (1, 1), e = (1/2, 1/6), z = 1, u = 1 - 2/3 = 1/3
  const auto y = token::forward(x);
  EXPECT_EQ(y.ST, rows({{f(7, 6)}, {f(10, 9)}}));
  EXPECT_EQ(y.o, rows({{f(23, 36)}}));
  // L = (3/2, -1), du = 5/12, de = -5/12 (1, 1), dSbar = (31/24, -77/72)
  const auto d = token::backward(x, {rows({{1}}), rows({{0}, {0}})});
  EXPECT_EQ(d.q, rows({{f(7, 12), f(5, 9)}}));
  EXPECT_EQ(d.k, rows({{f(1, 12), f(-13, 24)}}));
  EXPECT_EQ(d.b, rows({{f(-5, 24), f(-5, 36)}}));
  EXPECT_EQ(d.v, rows({{f(5, 36)}}));
  EXPECT_EQ(d.w, rows({{f(5, 4)}}));
  EXPECT_EQ(d.g, rows({{f(31, 24), f(-77, 72)}}));
  EXPECT_EQ(d.S0, rows({{f(31, 48)}, {f(-77, 288)}}));
}

TEST(TokenRecurrence, TwoTokensCarryTheStateAndItsCotangentAsWorkedByHand) {
  const Head<Fraction> x{.q = rows({{1}, {f(1, 3)}}),
                         .k = rows({{1}, {2}}),
                         .b = rows({{f(1, 2)}, {f(1, 4)}}),
                         .g = {},
                         .alpha = rows({{f(1, 3)}, {f(1, 2)}}),
                         .v = rows({{2}, {6}}),
                         .w = rows({{1}, {f(1, 2)}}),
                         .S0 = rows({{0}})};
  // S: 0 -> 2 -> 1 + 2 * 5/2 = 6
  const auto y = token::forward(x);
  EXPECT_EQ(y.o, rows({{2}, {2}}));
  EXPECT_EQ(y.ST, rows({{6}}));
  // token 2: L = 1 + 1/3 * 3 = 2, du = 4, de = -4, dSbar = 2 - 1/2 * 4 = 0; token 1: L = 1
  const auto d = token::backward(x, {rows({{1}, {3}}), rows({{1}})});
  EXPECT_EQ(d.q, rows({{2}, {18}}));
  EXPECT_EQ(d.k, rows({{2}, {4}}));
  EXPECT_EQ(d.b, rows({{0}, {-8}}));
  EXPECT_EQ(d.v, rows({{1}, {2}}));
  EXPECT_EQ(d.w, rows({{2}, {24}}));
  EXPECT_EQ(d.g, rows({{0}, {0}}));
  EXPECT_EQ(d.S0, rows({{f(1, 6)}}));
}

TEST(TokenRecurrence, ThreeTokensReflectForgetAndReplaceAsWorkedByHand) {
  const Head<Fraction> x{.q = rows({{1}, {2}, {1}}),
                         .k = rows({{1}, {f(1, 2)}, {1}}),
                         .b = rows({{2}, {1}, {1}}),  // b k k = 2: the state changes sign
                         .g = {},
                         .alpha = rows({{1}, {0}, {f(1, 2)}}),  // 0: everything is forgotten
                         .v = rows({{5, 7}, {4, 3}, {1, 1}}),
                         .w = rows({{0, 0}, {f(1, 2), 1}, {1, 1}}),
                         .S0 = rows({{1, 2}})};
  const auto y = token::forward(x);
  EXPECT_EQ(y.o, rows({{-1, -2}, {2, 3}, {1, 1}}));
  EXPECT_EQ(y.ST, rows({{1, 1}}));
  const auto d = token::backward(x, {rows({{1, 0}, {0, 1}, {0, 0}}), rows({{1, 2}})});
  EXPECT_EQ(d.q, rows({{-1}, {f(3, 2)}, {0}}));
  EXPECT_EQ(d.k, rows({{-4}, {6}, {-1}}));
  EXPECT_EQ(d.b, rows({{-1}, {0}, {-2}}));
  EXPECT_EQ(d.v, rows({{0, 0}, {0, 1}, {1, 2}}));
  EXPECT_EQ(d.w, rows({{5, 0}, {0, 3}, {1, 2}}));
  EXPECT_EQ(d.g, rows({{-1}, {0}, {0}}));
  EXPECT_EQ(d.S0, rows({{-1, 0}}));
}

/// The backward as it is defined, with every state kept.
HeadGradients<double> backward_with_all_states(const Head<double>& x,
                                               const HeadCotangents<double>& dy) {
  const auto T = x.T(), K = x.K(), V = x.V();
  HeadGradients<double> d{Matrix<double>(T, K), Matrix<double>(T, K), Matrix<double>(T, K),
                          Matrix<double>(T, K), Matrix<double>(T, V), Matrix<double>(T, V), dy.ST};
  std::vector<token::Step<double>> steps;
  auto S = x.S0;
  for (Eigen::Index t = 0; t < T; ++t) steps.push_back(token::advance(x, t, S));
  for (auto t = T; t-- > 0;) token::retreat<double>(x, t, steps[t], dy.o.row(t), d.S0, d);
  return d;
}

TEST(TokenRecurrence, CheckpointsDoNotChangeABit) {
  std::uint64_t stream = 0;
  const auto draw = [&](Eigen::Index m, Eigen::Index n, double low, double high) {
    Matrix<double> x(m, n);
    ++stream;
    for (Eigen::Index i = 0; i < x.size(); ++i)
      x.data()[i] = draws::uniform(1, stream, i, low, high);
    return x;
  };
  for (const Eigen::Index T : {1, 2, 3, 10, 30, 31}) {
    const Head<double> x{draw(T, 4, -1, 1), draw(T, 4, -0.5, 0.5), draw(T, 4, 0, 1), {},
                         draw(T, 4, 0.5, 1), draw(T, 3, -1, 1),    draw(T, 3, 0, 1), draw(4, 3, -1, 1)};
    const HeadCotangents<double> dy{draw(T, 3, -1, 1), draw(4, 3, -1, 1)};
    const auto got = token::backward(x, dy), want = backward_with_all_states(x, dy);
    EXPECT_EQ(got.q, want.q);
    EXPECT_EQ(got.k, want.k);
    EXPECT_EQ(got.g, want.g);
    EXPECT_EQ(got.b, want.b);
    EXPECT_EQ(got.v, want.v);
    EXPECT_EQ(got.w, want.w);
    EXPECT_EQ(got.S0, want.S0);
  }
}

}  // namespace
}  // namespace gdr2
