// SPDX-License-Identifier: Apache-2.0
// What the emulated arithmetic allows: a kernel's own order of operations must lie inside the spread of
// the stochastic members, and the nearest mode is one exact rounding after another.
#include "reference/arithmetic.hpp"

#include <gtest/gtest.h>

#include "tests/reference/draws.hpp"

namespace gdr2 {
namespace {

using M = Matrix<float>;

const Contract kSums = standard_contract(Format::kF32);

M drawn(Eigen::Index rows, Eigen::Index cols, std::uint64_t label, double low, double high) {
  M m(rows, cols);
  for (Eigen::Index i = 0; i < m.size(); ++i)
    m.data()[i] = float(draws::uniform(label, 0, i, low, high));
  return m;
}

double rms(const Matrix<double>& x) { return std::sqrt(x.squaredNorm() / double(x.size())); }

/// A state of order 4 and 64 writes of order 1/16: started from the state, every addition rounds at 4.
struct Update {
  M S = drawn(32, 32, 1, 4, 7), K = drawn(32, 64, 2, -1, 1), R = drawn(64, 32, 3, -0.1, 0.1);
  Matrix<double> exact = S.cast<double>() + K.cast<double>() * R.cast<double>();

  double error(const M& y) const { return rms(y.cast<double>() - exact); }

  M started_from_the_state() const {
    M y = S;
    for (Eigen::Index k = 0; k < K.cols(); ++k)
      for (Eigen::Index i = 0; i < y.rows(); ++i)
        for (Eigen::Index j = 0; j < y.cols(); ++j) y(i, j) = std::fma(K(i, k), R(k, j), y(i, j));
    return y;
  }
};

TEST(AddProduct, AMemberMayStartFromWhatIsAddedTo) {
  const Update update;
  double sum = 0;
  constexpr int kMembers = 64;
  for (int n = 0; n < kMembers; ++n) {
    const Emulated<float> ar(kSums, RoundingMode::kStochastic, n + 1);
    const double error = update.error(ar.add_product(Format::kF32, update.S, update.K, update.R));
    sum += error * error;
  }
  const double ratio = update.error(update.started_from_the_state()) / std::sqrt(sum / kMembers);
  EXPECT_GT(ratio, 1.1);  // sqrt 2 in the mean over positions
  EXPECT_LT(ratio, 1.8);
}

TEST(AddProduct, ToNearestIsTheSumRoundedOnceMore) {
  const Update update;
  const Emulated<float> ar(kSums);
  const M product = ar.product(Format::kF32, update.K, update.R);
  EXPECT_EQ(ar.add_product(Format::kF32, update.S, update.K, update.R), M(update.S + product));
}

TEST(AddProduct, OfIntegersIsExactInEveryMember) {
  const M S = drawn(8, 8, 4, -9, 9).array().round(), K = drawn(8, 20, 5, -9, 9).array().round(),
          R = drawn(20, 8, 6, -9, 9).array().round();
  for (int n = 0; n < 20; ++n)
    EXPECT_EQ(Emulated<float>(kSums, RoundingMode::kStochastic, n).add_product(Format::kF32, S, K, R),
              M(S + K * R));
}

}  // namespace
}  // namespace gdr2
