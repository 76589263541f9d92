// SPDX-License-Identifier: Apache-2.0
// Kimi Delta Attention (Kimi Linear, arXiv:2510.26692), one head, as published: a delta rule whose
// decay is a diagonal matrix of one gate per key channel,
//
//   S_t = (I - beta_t k_t k_t^T) Diag(alpha_t) S_{t-1} + beta_t k_t v_t^T,    o_t = scale S_t^T q_t.
//
// The transition matrix is formed and multiplied as it stands there, forward and backward, and the
// states are kept: an independent road to the gated delta rule-2 with b = w = beta. It shares
// nothing with reference/delta_rule.hpp and never will.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace gdr2::kda {

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;

template <class Real>
struct Inputs {
  Matrix<Real> q, k;  // [T, K]
  Matrix<Real> v;     // [T, V]
  Matrix<Real> g;     // [T, K] log alpha, -inf allowed
  Vector<Real> beta;  // [T]
  Matrix<Real> S0;    // [K, V]
  Real scale;
};

template <class Real>
struct Outputs {
  Matrix<Real> o;               // [T, V]
  std::vector<Matrix<Real>> S;  // S_0 .. S_T, each [K, V]
};

template <class Real>
struct Gradients {
  Matrix<Real> q, k, v, g;  // as the inputs
  Vector<Real> beta;        // [T]
  Matrix<Real> S0;          // [K, V]
};

/// I - beta_t k_t k_t^T, [K, K].
template <class Real>
Matrix<Real> householder(const Inputs<Real>& x, Eigen::Index t) {
  const Vector<Real> k = x.k.row(t).transpose();
  Matrix<Real> P = -x.beta(t) * k * k.transpose();
  P.diagonal().array() += Real(1);
  return P;
}

template <class Real>
Vector<Real> alpha(const Inputs<Real>& x, Eigen::Index t) {
  using std::exp;
  return x.g.row(t).transpose().unaryExpr([](const Real& g) -> Real { return exp(g); });
}

template <class Real>
Outputs<Real> forward(const Inputs<Real>& x) {
  Outputs<Real> y{Matrix<Real>(x.v.rows(), x.v.cols()), {x.S0}};
  for (Eigen::Index t = 0; t < x.q.rows(); ++t) {
    const Matrix<Real> decayed = alpha(x, t).asDiagonal() * y.S.back();
    const Matrix<Real> S =
        householder(x, t) * decayed + x.beta(t) * x.k.row(t).transpose() * x.v.row(t);
    y.o.row(t) = x.scale * (S.transpose() * x.q.row(t).transpose()).transpose();
    y.S.push_back(S);
  }
  return y;
}

/// Gradients of sum(o * d_o) + sum(S_T * d_ST).
template <class Real>
Gradients<Real> backward(const Inputs<Real>& x, const Matrix<Real>& d_o, const Matrix<Real>& d_ST) {
  const auto S = forward(x).S;
  Gradients<Real> d{Matrix<Real>(x.q), Matrix<Real>(x.k),    Matrix<Real>(x.v),
                    Matrix<Real>(x.g), Vector<Real>(x.beta), d_ST};
  Matrix<Real>& dS = d.S0;
  for (Eigen::Index t = x.q.rows(); t-- > 0;) {
    const Vector<Real> k = x.k.row(t).transpose(), a = alpha(x, t);
    const Matrix<Real> P = householder(x, t), decayed = a.asDiagonal() * S[t];
    // o_t = scale S_t^T q_t
    d.q.row(t) = x.scale * (S[t + 1] * d_o.row(t).transpose()).transpose();
    dS += x.scale * x.q.row(t).transpose() * d_o.row(t);
    // S_t = P Diag(alpha_t) S_{t-1} + beta k v^T,  P = I - beta k k^T
    const Matrix<Real> dP = dS * decayed.transpose();
    const Vector<Real> dS_v = dS * x.v.row(t).transpose();
    d.v.row(t) = x.beta(t) * (dS.transpose() * k).transpose();
    d.k.row(t) = x.beta(t) * (dS_v - (dP + dP.transpose()) * k).transpose();
    d.beta(t) = k.dot(dS_v) - k.dot(dP * k);
    const Matrix<Real> d_decayed = P.transpose() * dS;
    d.g.row(t) = d_decayed.cwiseProduct(decayed).rowwise().sum().transpose();
    dS = a.asDiagonal() * d_decayed;
  }
  return d;
}

}  // namespace gdr2::kda
