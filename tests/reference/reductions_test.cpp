// SPDX-License-Identifier: Apache-2.0
// The gated delta rule-2 with tied gates is an older rule (docs/MATH.md 5.2). Each of those stands in
// reference/independent as its authors define it; outputs and every gradient must agree in 100
// digits. A tied gate's gradient is the sum over the entries that were tied.
#include <gtest/gtest.h>

#include <limits>

#include "reference/delta_rule.hpp"
#include "reference/independent/deltanet.hpp"
#include "reference/independent/gated_deltanet.hpp"
#include "reference/independent/gated_linear_attention.hpp"
#include "reference/independent/kda.hpp"
#include "reference/independent/mamba2.hpp"
#include "tests/reference/draws.hpp"

namespace gdr2 {
namespace {

using Real = Digits100;
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;

constexpr Eigen::Index kT = 40, kK = 12, kV = 7;

// 100 digits less the growth of 40 tokens' rounding errors; a wrong term is wrong in digit 1.
const Real kAgreement("1e-90");

/// Inputs for which different terms of the rules matter.
enum class Regime {
  kPlain,       // random keys, gates -5 .. -0.1, beta in [0, 1]
  kSlow,        // correlated unit keys, decay 1e-4 .. 1e-6 a token: nothing is forgotten
  kForgetting,  // every fifth token forgets all (-inf) or nearly (-1e4), every third key is zero
  kReflecting,  // beta in [0, 2]: eigenvalues down to -1
};

std::string name_of(const testing::TestParamInfo<Regime>& info) {
  switch (info.param) {
    case Regime::kPlain: return "Plain";
    case Regime::kSlow: return "SlowDecayCorrelatedKeys";
    case Regime::kForgetting: return "ForgettingAll";
    case Regime::kReflecting: break;
  }
  return "NegativeEigenvalues";
}

enum Stream : std::uint64_t { kQ, kKey, kDirection, kVal, kG, kBeta, kW, kState, kDo, kDState };

Matrix<Real> matrix(Stream stream, Eigen::Index rows, Eigen::Index cols, double low, double high) {
  Matrix<Real> m(rows, cols);
  for (Eigen::Index i = 0; i < m.size(); ++i) m(i) = draws::uniform(7, stream, i, low, high);
  return m;
}

Matrix<Real> keys(Regime regime) {
  Matrix<Real> k = matrix(kKey, kT, kK, -1, 1);
  const Matrix<Real> directions = matrix(kDirection, 2, kK, -1, 1);
  for (Eigen::Index t = 0; t < kT; ++t) {
    if (regime == Regime::kSlow) k.row(t) = directions.row(t % 2) + Real(0.1) * k.row(t);
    k.row(t) /= sqrt(k.row(t).squaredNorm());
    if (regime == Regime::kForgetting && t % 3 == 0) k.row(t).setZero();
  }
  return k;
}

/// Log decays: of one channel each, or the first column alone for a scalar gate.
Matrix<Real> gates(Regime regime, Eigen::Index channels) {
  const bool slow = regime == Regime::kSlow;
  Matrix<Real> g = matrix(kG, kT, channels, slow ? -1e-4 : -5, slow ? -1e-6 : -0.1);
  if (regime != Regime::kForgetting) return g;
  for (Eigen::Index t = 2; t < kT; t += 5) {
    g.row(t).setConstant(t % 2 ? Real(-1e4) : -std::numeric_limits<Real>::infinity());
    if (channels > 1) g(t, t % channels) = Real(-0.25);
  }
  return g;
}

Vector strengths(Regime regime) {
  return matrix(kBeta, kT, 1, 0, regime == Regime::kReflecting ? 2 : 1);
}

Matrix<Real> across(const Vector& column, Eigen::Index channels) {
  return column.replicate(1, channels);
}

/// The gated delta rule-2 in the regime, gates still to be tied by the test. g: [T, K].
Head<Real> head(Regime regime, const Matrix<Real>& g) {
  Head<Real> x;
  x.q = matrix(kQ, kT, kK, -1, 1);
  x.k = keys(regime);
  x.v = matrix(kVal, kT, kV, -1, 1);
  x.b = Matrix<Real>::Zero(kT, kK);
  x.w = Matrix<Real>::Ones(kT, kV);
  x.g = g;
  x.alpha = g.unaryExpr([](const Real& value) -> Real { return exp(value); });
  x.S0 = matrix(kState, kK, kV, -1, 1);
  x.scale = Real(1) / sqrt(Real(kK));
  return x;
}

HeadCotangents<Real> cotangents() {
  return {matrix(kDo, kT, kV, -1, 1), matrix(kDState, kK, kV, -1, 1)};
}

template <class A, class B>
testing::AssertionResult agree(const A& actual, const B& expected) {
  if (actual.rows() != expected.rows() || actual.cols() != expected.cols())
    return testing::AssertionFailure() << "shapes differ";
  const Real error = sqrt((actual - expected).squaredNorm() / expected.squaredNorm());
  if (!(error <= kAgreement)) return testing::AssertionFailure() << "relative error " << error;
  return testing::AssertionSuccess();
}

class Reductions : public testing::TestWithParam<Regime> {};

TEST_P(Reductions, KimiDeltaAttentionIsScalarEraseAndWrite) {
  const Vector beta = strengths(GetParam());
  auto x = head(GetParam(), gates(GetParam(), kK));
  x.b = across(beta, kK);
  x.w = across(beta, kV);
  const auto dy = cotangents();
  const auto y = token::forward(x);
  const auto d = token::backward(x, dy);

  const kda::Inputs<Real> in{x.q, x.k, x.v, x.g, beta, x.S0, x.scale};
  const auto expected = kda::forward(in);
  const auto gradient = kda::backward(in, dy.o, dy.ST);
  EXPECT_TRUE(agree(y.o, expected.o));
  EXPECT_TRUE(agree(y.ST, expected.S.back()));
  EXPECT_TRUE(agree(d.q, gradient.q));
  EXPECT_TRUE(agree(d.k, gradient.k));
  EXPECT_TRUE(agree(d.v, gradient.v));
  EXPECT_TRUE(agree(d.g, gradient.g));
  EXPECT_TRUE(agree(d.b.rowwise().sum() + d.w.rowwise().sum(), gradient.beta));
  EXPECT_TRUE(agree(d.S0, gradient.S0));
}

TEST_P(Reductions, GatedDeltaNetIsScalarEraseWriteAndDecay) {
  const Vector beta = strengths(GetParam()), g = gates(GetParam(), 1);
  auto x = head(GetParam(), across(g, kK));
  x.b = across(beta, kK);
  x.w = across(beta, kV);
  const auto dy = cotangents();
  const auto y = token::forward(x);
  const auto d = token::backward(x, dy);

  const gated_deltanet::Inputs<Real> in{x.q, x.k, x.v, g, beta, x.S0.transpose(), x.scale};
  const auto expected = gated_deltanet::forward(in);
  const auto gradient = gated_deltanet::backward<Real>(in, dy.o, dy.ST.transpose());
  EXPECT_TRUE(agree(y.o, expected.o));
  EXPECT_TRUE(agree(y.ST.transpose(), expected.S.back()));
  EXPECT_TRUE(agree(d.q, gradient.q));
  EXPECT_TRUE(agree(d.k, gradient.k));
  EXPECT_TRUE(agree(d.v, gradient.v));
  EXPECT_TRUE(agree(d.g.rowwise().sum(), gradient.g));
  EXPECT_TRUE(agree(d.b.rowwise().sum() + d.w.rowwise().sum(), gradient.beta));
  EXPECT_TRUE(agree(d.S0.transpose(), gradient.S0));
}

TEST_P(Reductions, DeltaNetIsScalarEraseAndWriteWithoutDecay) {
  const Vector beta = strengths(GetParam());
  auto x = head(GetParam(), Matrix<Real>::Zero(kT, kK));
  x.b = across(beta, kK);
  x.w = across(beta, kV);
  const auto dy = cotangents();
  const auto y = token::forward(x);
  const auto d = token::backward(x, dy);

  const deltanet::Inputs<Real> in{x.q, x.k, x.v, beta, x.S0.transpose(), x.scale};
  const auto expected = deltanet::forward(in);
  const auto gradient = deltanet::backward<Real>(in, dy.o, dy.ST.transpose());
  EXPECT_TRUE(agree(y.o, expected.o));
  EXPECT_TRUE(agree(y.ST.transpose(), expected.S.back()));
  EXPECT_TRUE(agree(d.q, gradient.q));
  EXPECT_TRUE(agree(d.k, gradient.k));
  EXPECT_TRUE(agree(d.v, gradient.v));
  EXPECT_TRUE(agree(d.b.rowwise().sum() + d.w.rowwise().sum(), gradient.beta));
  EXPECT_TRUE(agree(d.S0.transpose(), gradient.S0));
}

TEST_P(Reductions, GatedLinearAttentionNeverErases) {
  auto x = head(GetParam(), gates(GetParam(), kK));
  x.w = matrix(kW, kT, kV, 0, 1);
  const auto dy = cotangents();
  const auto y = token::forward(x);
  const auto d = token::backward(x, dy);

  const gated_linear_attention::Inputs<Real> in{x.q,  x.k,    x.g, x.w.cwiseProduct(x.v),
                                                x.S0, x.scale};
  const auto gradient = gated_linear_attention::backward(in, dy.o, dy.ST);
  for (const auto& expected :
       {gated_linear_attention::recurrent(in), gated_linear_attention::parallel(in)}) {
    EXPECT_TRUE(agree(y.o, expected.o));
    EXPECT_TRUE(agree(y.ST, expected.ST));
  }
  EXPECT_TRUE(agree(d.q, gradient.q));
  EXPECT_TRUE(agree(d.k, gradient.k));
  EXPECT_TRUE(agree(d.g, gradient.g));
  EXPECT_TRUE(agree(d.v, x.w.cwiseProduct(gradient.v)));
  EXPECT_TRUE(agree(d.w, x.v.cwiseProduct(gradient.v)));
  EXPECT_TRUE(agree(d.S0, gradient.S0));
}

TEST_P(Reductions, Mamba2IsScalarDecayThatWritesItsTimeStep) {
  // Forgetting all is a long time step here, not an infinite one: the step is also written.
  const Real A(-4);
  const Vector dt = gates(GetParam(), 1).cwiseMax(Real(-1e5)) / A;
  auto x = head(GetParam(), across(A * dt, kK));
  x.w = across(dt, kV);
  x.scale = 1;
  const auto dy = cotangents();
  const auto y = token::forward(x);
  const auto d = token::backward(x, dy);

  const mamba2::Inputs<Real> in{x.q, x.k, x.v, dt, x.S0, A};
  const auto expected = mamba2::forward(in);
  const auto gradient = mamba2::backward(in, dy.o, dy.ST);
  const Vector da = d.g.rowwise().sum();
  EXPECT_TRUE(agree(y.o, expected.y));
  EXPECT_TRUE(agree(y.ST, expected.hT));
  EXPECT_TRUE(agree(d.q, gradient.C));
  EXPECT_TRUE(agree(d.k, gradient.B));
  EXPECT_TRUE(agree(d.v, gradient.x));
  EXPECT_TRUE(agree(A * da + d.w.rowwise().sum(), gradient.dt));
  EXPECT_TRUE(agree(d.S0, gradient.h0));
  EXPECT_LE(abs(dt.dot(da) - gradient.A), kAgreement * abs(gradient.A));
}

TEST_P(Reductions, WithoutEraseAndWriteTheStateOnlyDecays) {
  auto x = head(GetParam(), gates(GetParam(), kK));
  x.w.setZero();
  Matrix<Real> expected = x.S0;
  for (Eigen::Index c = 0; c < kK; ++c) expected.row(c) *= exp(x.g.col(c).sum());
  const auto y = token::forward(x);
  for (Eigen::Index i = 0; i < expected.size(); ++i)
    EXPECT_LE(abs(y.ST(i) - expected(i)), kAgreement * abs(expected(i)));
}

INSTANTIATE_TEST_SUITE_P(Regimes, Reductions,
                         testing::Values(Regime::kPlain, Regime::kSlow, Regime::kForgetting,
                                         Regime::kReflecting),
                         name_of);

}  // namespace
}  // namespace gdr2
