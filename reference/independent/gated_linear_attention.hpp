// SPDX-License-Identifier: Apache-2.0
// Gated linear attention (Yang et al., arXiv:2312.06635), one head: no erasing, one gate per key
// channel. Both published forms stand here, the recurrent one
//
//   S_t = Diag(alpha_t) S_{t-1} + k_t v_t^T,   o_t = scale S_t^T q_t,
//
// and the parallel one, attention with a decay between the query's and the key's token,
//
//   o_i = scale sum_{j<=i} A_ij v_j,   A_ij = sum_c q_ic k_jc exp(G_ic - G_jc),
//
// whose backward is the paper's closed form. An independent road to the gated delta rule-2 with
// b = 0. It shares nothing with reference/delta_rule.hpp.
#pragma once

#include <Eigen/Core>

namespace gdr2::gated_linear_attention {

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;

template <class Real>
struct Inputs {
  Matrix<Real> q, k, g;  // [T, K]; g = log alpha, -inf allowed
  Matrix<Real> v;        // [T, V]
  Matrix<Real> S0;       // [K, V]
  Real scale;
};

template <class Real>
struct Outputs {
  Matrix<Real> o;   // [T, V]
  Matrix<Real> ST;  // [K, V]
};

template <class Real>
struct Gradients {
  Matrix<Real> q, k, g;  // [T, K]
  Matrix<Real> v;        // [T, V]
  Matrix<Real> S0;       // [K, V]
};

/// Decay per channel of what stood after token j, seen at token i >= j; j = -1 is the initial state.
/// The sum of the gates between them, never a difference of prefix sums: -inf - (-inf) is not 0.
template <class Real>
Vector<Real> decay(const Inputs<Real>& x, Eigen::Index i, Eigen::Index j) {
  using std::exp;
  Vector<Real> sum = Vector<Real>::Zero(x.g.cols());
  for (Eigen::Index t = j + 1; t <= i; ++t) sum += x.g.row(t).transpose();
  return sum.unaryExpr([](const Real& G) -> Real { return exp(G); });
}

template <class Real>
Outputs<Real> recurrent(const Inputs<Real>& x) {
  Outputs<Real> y{Matrix<Real>(x.v.rows(), x.v.cols()), x.S0};
  for (Eigen::Index t = 0; t < x.q.rows(); ++t) {
    const Matrix<Real> decayed = decay(x, t, t - 1).asDiagonal() * y.ST;
    y.ST = decayed + x.k.row(t).transpose() * x.v.row(t);
    y.o.row(t) = x.scale * (y.ST.transpose() * x.q.row(t).transpose()).transpose();
  }
  return y;
}

template <class Real>
Outputs<Real> parallel(const Inputs<Real>& x) {
  const Eigen::Index T = x.q.rows();
  Outputs<Real> y{Matrix<Real>::Zero(T, x.v.cols()), decay(x, T - 1, -1).asDiagonal() * x.S0};
  for (Eigen::Index i = 0; i < T; ++i) {
    const Vector<Real> q = x.q.row(i).transpose(), q0 = q.cwiseProduct(decay(x, i, -1));
    for (Eigen::Index j = 0; j <= i; ++j) {
      const Real A = q.dot(x.k.row(j).transpose().cwiseProduct(decay(x, i, j)));
      y.o.row(i) += x.scale * A * x.v.row(j);
    }
    y.o.row(i) += x.scale * (x.S0.transpose() * q0).transpose();
    y.ST += x.k.row(i).transpose().cwiseProduct(decay(x, T - 1, i)) * x.v.row(i);
  }
  return y;
}

/// Gradients of sum(o * d_o) + sum(S_T * d_ST), from the parallel form.
template <class Real>
Gradients<Real> backward(const Inputs<Real>& x, const Matrix<Real>& d_o, const Matrix<Real>& d_ST) {
  const Eigen::Index T = x.q.rows(), K = x.q.cols();
  Gradients<Real> d{Matrix<Real>::Zero(T, K), Matrix<Real>::Zero(T, K), Matrix<Real>::Zero(T, K),
                    Matrix<Real>::Zero(T, x.v.cols()), decay(x, T - 1, -1).asDiagonal() * d_ST};
  for (Eigen::Index i = 0; i < T; ++i) {
    const Vector<Real> q = x.scale * x.q.row(i).transpose(), d0 = decay(x, i, -1);
    for (Eigen::Index j = 0; j <= i; ++j) {
      // o_i = sum_j A_ij v_j
      const Vector<Real> k = x.k.row(j).transpose(), D = decay(x, i, j);
      const Real dA = d_o.row(i).dot(x.v.row(j));
      d.v.row(j) += q.cwiseProduct(k).dot(D) * d_o.row(i);
      d.q.row(i) += x.scale * dA * k.cwiseProduct(D).transpose();
      d.k.row(j) += dA * q.cwiseProduct(D).transpose();
    }
    // o_i += S_0^T (q_i exp(G_i))
    d.q.row(i) += x.scale * (x.S0 * d_o.row(i).transpose()).cwiseProduct(d0).transpose();
    d.S0 += q.cwiseProduct(d0) * d_o.row(i);
    // S_T = Diag(exp(G_T)) S_0 + sum_i (k_i exp(G_T - G_i)) v_i^T
    const Vector<Real> D = decay(x, T - 1, i);
    d.k.row(i) += (d_ST * x.v.row(i).transpose()).cwiseProduct(D).transpose();
    d.v.row(i) += (d_ST.transpose() * x.k.row(i).transpose().cwiseProduct(D)).transpose();
  }
  // G_t enters as +G with q_t, as -G with k_t, and G_T with the final state; g is summed into G.
  Vector<Real> dG = recurrent(x).ST.cwiseProduct(d_ST).rowwise().sum();
  for (Eigen::Index t = T; t-- > 0;) {
    dG += (x.q.row(t).cwiseProduct(d.q.row(t)) - x.k.row(t).cwiseProduct(d.k.row(t))).transpose();
    d.g.row(t) = dG.transpose();
  }
  return d;
}

}  // namespace gdr2::gated_linear_attention
