// SPDX-License-Identifier: Apache-2.0
// Decays between the rows of one chunk, without ever forming a positive exponent or a difference of
// cumulative sums. Log decays are summed inside blocks of rows, forwards (prefix) and backwards
// (suffix), and over whole blocks; every decay is exp of a sum of non-positive terms, so g = -1e4 or
// -inf costs its neighbours no accuracy (docs/MATH.md 4, docs/NUMERICS.md).
#pragma once

#include "reference/arithmetic.hpp"

namespace gdr2::chunk {

template <class Arithmetic>
class Decay {
  using Real = typename Arithmetic::Real;
  using Wide = typename Arithmetic::Wide;
  using Index = Eigen::Index;

 public:
  /// g: [n, K] log decays of the chunk's rows, n <= 64, in blocks of contract().direct_rows (8 when
  /// nothing is direct).
  Decay(const Arithmetic& ar, const Matrix<Real>& g)
      : ar_(ar),
        g_(g),
        block_(ar.contract().direct_rows ? ar.contract().direct_rows : 8),
        prefix_(g),
        suffix_(g),
        total_(blocks(), g.cols()) {
    suffix_.setZero();
    for (Index I = 0; I < blocks(); ++I) {
      for (Index i = begin(I) + 1; i < end(I); ++i) prefix_.row(i) = sum(prefix_.row(i - 1), g.row(i));
      for (Index i = end(I) - 1; i-- > begin(I);)
        suffix_.row(i) = sum(suffix_.row(i + 1), g.row(i + 1));
      total_.row(I) = prefix_.row(end(I) - 1);
    }
  }

  Index blocks() const { return (g_.rows() + block_ - 1) / block_; }
  Index begin(Index block) const { return block * block_; }
  Index end(Index block) const { return std::min(begin(block) + block_, g_.rows()); }
  Index rows(Index block) const { return end(block) - begin(block); }

  /// X_i exp(sum of g from the chunk's first row to i), all rows.
  Matrix<Real> from_start(const Matrix<Real>& X) const {
    Matrix<Real> y(X.rows(), X.cols());
    RowVector<Real> before = RowVector<Real>::Zero(g_.cols());
    for (Index I = 0; I < blocks(); ++I) {
      for (Index i = begin(I); i < end(I); ++i)
        y.row(i) = decayed(X.row(i), sum(before, prefix_.row(i)));
      before = sum(before, total_.row(I));
    }
    return y;
  }

  /// X_r exp(sum of g after r to the chunk's last row), all rows.
  Matrix<Real> to_end(const Matrix<Real>& X) const {
    Matrix<Real> y(X.rows(), X.cols());
    RowVector<Real> after = RowVector<Real>::Zero(g_.cols());
    for (Index I = blocks(); I-- > 0;) {
      for (Index i = begin(I); i < end(I); ++i)
        y.row(i) = decayed(X.row(i), sum(after, suffix_.row(i)));
      after = sum(after, total_.row(I));
    }
    return y;
  }

  /// exp(sum of g over the chunk): [K]
  RowVector<Real> across() const {
    return from_start(Matrix<Real>::Ones(g_.rows(), g_.cols())).bottomRows(1);
  }

  /// Rows of block I, decayed from the block's anchor (its start): X_i exp(sum of g in I up to i).
  Matrix<Real> from_anchor(const Matrix<Real>& X, Index I) const {
    Matrix<Real> y(rows(I), X.cols());
    for (Index i = begin(I); i < end(I); ++i)
      y.row(i - begin(I)) = decayed(X.row(i), prefix_.row(i));
    return y;
  }

  /// Rows of an earlier block J, decayed to the anchor of block I: X_j exp(sum of g after j, before I).
  Matrix<Real> to_anchor(const Matrix<Real>& X, Index J, Index I) const {
    RowVector<Real> between = RowVector<Real>::Zero(g_.cols());
    for (Index L = J + 1; L < I; ++L) between = sum(between, total_.row(L));
    Matrix<Real> y(rows(J), X.cols());
    for (Index j = begin(J); j < end(J); ++j)
      y.row(j - begin(J)) = decayed(X.row(j), sum(between, suffix_.row(j)));
    return y;
  }

  /// X as it enters a product inside its block: x exp(L) is rounded to an operand, L the sum of g from
  /// the block's anchor to x's row (x exp(-L) for the later factor's partner), and the decay taken out
  /// again. A channel in which exp(-L) passes what operands hold (2^60, in fp16 2^3) stays as it is. A
  /// kernel may leave its neighbours as they are too: that is less error, not more.
  Matrix<Real> rounded_inside(const Matrix<Real>& X, bool inverse) const {
    using std::exp;
    Matrix<Real> y(1, X.cols()), out = X;
    const bool narrow = traits(ar_.contract().operand).max_exponent < 127;
    const auto least = Real(narrow ? 0x1p-3 : 0x1p-60);
    for (Index i = 0; i < X.rows(); ++i) {
      const RowVector<Real> d = exponential(prefix_.row(i));
      const auto fits = [&](Index c) { return d(c) >= least; };
      const auto scale = [&](Index c) { return inverse ? Wide(1) / Wide(d(c)) : Wide(d(c)); };
      for (Index c = 0; c < X.cols(); ++c)
        y(0, c) = fits(c) ? ar_.store(Wide(X(i, c)) * scale(c)) : Real(0);
      ar_.round(ar_.contract().operand, y);
      for (Index c = 0; c < X.cols(); ++c)
        if (fits(c)) out(i, c) = ar_.store(Wide(y(0, c)) / scale(c));
    }
    return out;
  }

  /// For each pair j <= i of one block: body(i, j, exp(sum of g after j up to i)), i ascending.
  template <class Body>
  void each_pair(Index block, const Body& body) const {
    for (Index j = begin(block); j < end(block); ++j) {
      RowVector<Real> log = RowVector<Real>::Zero(g_.cols());
      for (Index i = j; i < end(block); ++i) {
        if (i > j) log = sum(log, g_.row(i));
        body(i, j, exponential(log));
      }
    }
  }

 private:
  RowVector<Real> sum(const RowVector<Real>& a, const RowVector<Real>& b) const {
    Matrix<Real> s = ar_.store(Matrix<Wide>(a.template cast<Wide>() + b.template cast<Wide>()));
    ar_.round(ar_.contract().gate, s);
    return s;
  }

  RowVector<Real> exponential(const RowVector<Real>& log) const {
    return ar_.store(Matrix<Wide>(log.template cast<Wide>().array().exp().matrix()));
  }

  RowVector<Real> decayed(const RowVector<Real>& x, const RowVector<Real>& log) const {
    const RowVector<Real> d = exponential(log);
    return ar_.store(
        Matrix<Wide>(x.template cast<Wide>().cwiseProduct(d.template cast<Wide>())));
  }

  const Arithmetic& ar_;
  const Matrix<Real>& g_;
  Index block_;                   // rows
  Matrix<Real> prefix_, suffix_;  // [n, K] inside blocks
  Matrix<Real> total_;            // [blocks, K]
};

}  // namespace gdr2::chunk
