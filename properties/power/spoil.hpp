// SPDX-License-Identifier: Apache-2.0
// Ways to spoil a matrix of a chunk, shared by the lists of faults: rows and columns dropped, blocks
// dropped, rounding, order. `rows` counts the chunk's tokens; rows past it are padding.
#pragma once

#include <algorithm>

#include "properties/power/fault.hpp"
#include "reference/rounding.hpp"

namespace gdr2::power {

inline constexpr Index kBlock = 16;

inline void drop_row(M& x, Index row) {
  if (row >= 0 && row < x.rows()) x.row(row).setZero();
}

inline void drop_column(M& x, Index column) {
  if (column >= 0 && column < x.cols()) x.col(column).setZero();
}

/// Rows of the 16-row block that holds the last token.
inline void drop_last_block(M& x, Index rows) {
  const auto begin = (rows - 1) / kBlock * kBlock;
  x.middleRows(begin, std::min(rows, x.rows()) - begin).setZero();
}

/// Of a square matrix: what lies outside its diagonal 16 x 16 blocks.
inline void keep_diagonal_blocks(M& x) {
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j)
      if (i / kBlock != j / kBlock) x(i, j) = 0;
}

/// Each row takes the place of the next.
inline void shift_rows(M& x) {
  for (Index i = x.rows(); i-- > 1;) x.row(i) = x.row(i - 1).eval();
}

inline void round_to(Format format, M& x) {
  for (Index i = 0; i < x.size(); ++i) x.data()[i] = float(round_nearest(x.data()[i], format));
}

/// Every row replaced by its mean.
inline void row_means(M& x) {
  for (Index i = 0; i < x.rows(); ++i) x.row(i).setConstant(x.row(i).mean());
}

/// G of docs/MATH.md 4 in double, a row before the first: [n + 1, K]. -inf counts as -1e5.
inline Matrix<double> prefix_decay(const Stages& s) {
  Matrix<double> G = Matrix<double>::Zero(s.g.rows() + 1, s.g.cols());
  for (Index i = 0; i < s.g.rows(); ++i)
    for (Index c = 0; c < s.g.cols(); ++c) G(i + 1, c) = G(i, c) + std::max(-1e5, double(s.g(i, c)));
  return G;
}

/// x_ic f(G_{i + 1 - late, c}) with f = exp or another base.
template <class F>
M decayed_from_start(const Stages& s, const M& x, Index late, const F& f) {
  const auto G = prefix_decay(s);
  M y = x;
  for (Index i = 0; i < x.rows(); ++i)
    for (Index c = 0; c < x.cols(); ++c) y(i, c) = float(x(i, c) * f(G(i + 1 - late, c)));
  return y;
}

/// sum_c x_ic k_jc f(i, j, c) over i >= j (i > j when strict), 0 above.
template <class F>
M scores_of(const M& x, const M& k, bool strict, const F& f) {
  M y = M::Zero(x.rows(), x.rows());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j <= i - Index(strict); ++j) {
      double sum = 0;
      for (Index c = 0; c < x.cols(); ++c) sum += double(x(i, c)) * k(j, c) * f(i, j, c);
      y(i, j) = float(sum);
    }
  return y;
}

/// A fault of the forward, on the stages of each chunk as they stand at a site.
inline Fault stage_fault(const char* name, const char* kind, const char* what, chunk::Site site,
                         std::function<void(Stages&)> change) {
  return {.name = std::string("forward.") + name,
          .kind = kind,
          .what = what,
          .change = OnStages{site, std::move(change)}};
}

/// A fault in what a right kernel is called with.
inline Fault before(const char* name, const char* kind, const char* what,
                    std::function<void(Problem&, Tensors&)> change, Pass pass = Pass::kBoth) {
  return {.name = std::string("call.") + name,
          .kind = kind,
          .what = what,
          .pass = pass,
          .change = OnCall{std::move(change), {}}};
}

/// (I + T)^-1 for any lower triangular T, diagonal included.
inline M inverse_of(const M& T) {
  Matrix<double> L = T.template cast<double>();
  L.diagonal().array() += 1;
  const auto n = L.rows();
  Matrix<double> A = Matrix<double>::Identity(n, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = j; i < n; ++i) {
      double sum = i == j;
      for (Index l = j; l < i; ++l) sum -= L(i, l) * A(l, j);
      A(i, j) = sum / L(i, i);
    }
  return A.template cast<float>();
}

/// y_r = sum of x over rows r, r + 1, ...
inline M reverse_sums(M x) {
  for (Index r = x.rows() - 1; r-- > 0;) x.row(r) += x.row(r + 1).eval();
  return x;
}

}  // namespace gdr2::power
