// SPDX-License-Identifier: Apache-2.0
// Gated DeltaNet (Yang, Kautz, Hatamizadeh, arXiv:2412.06464), one head, as published: one scalar
// gate and one scalar write strength a token, states in the authors' own [V, K] orientation,
//
//   S_t = S_{t-1} (alpha_t (I - beta_t k_t k_t^T)) + beta_t v_t k_t^T,        o_t = scale S_t q_t.
//
// An independent road to the gated delta rule-2 with b = w = beta and one gate for all channels.
// It shares nothing with reference/delta_rule.hpp.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace gdr2::gated_deltanet {

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;

template <class Real>
struct Inputs {
  Matrix<Real> q, k;     // [T, K]
  Matrix<Real> v;        // [T, V]
  Vector<Real> g, beta;  // [T]; g = log alpha, -inf allowed
  Matrix<Real> S0;       // [V, K]
  Real scale;
};

template <class Real>
struct Outputs {
  Matrix<Real> o;               // [T, V]
  std::vector<Matrix<Real>> S;  // S_0 .. S_T, each [V, K]
};

template <class Real>
struct Gradients {
  Matrix<Real> q, k, v;  // as the inputs
  Vector<Real> g, beta;  // [T]
  Matrix<Real> S0;       // [V, K]
};

/// S_{t-1} (I - beta_t k_t k_t^T), [V, K]: the old value of k_t erased, nothing decayed yet.
template <class Real>
Matrix<Real> erase(const Inputs<Real>& x, Eigen::Index t, const Matrix<Real>& S) {
  const Vector<Real> k = x.k.row(t).transpose();
  const Matrix<Real> identity = Matrix<Real>::Identity(k.size(), k.size());
  return S * (identity - x.beta(t) * k * k.transpose());
}

template <class Real>
Outputs<Real> forward(const Inputs<Real>& x) {
  using std::exp;
  Outputs<Real> y{Matrix<Real>(x.v.rows(), x.v.cols()), {x.S0}};
  for (Eigen::Index t = 0; t < x.q.rows(); ++t) {
    const Real alpha = exp(x.g(t));
    const Matrix<Real> S =
        alpha * erase(x, t, y.S.back()) + x.beta(t) * x.v.row(t).transpose() * x.k.row(t);
    y.o.row(t) = x.scale * (S * x.q.row(t).transpose()).transpose();
    y.S.push_back(S);
  }
  return y;
}

/// Gradients of sum(o * d_o) + sum(S_T * d_ST), d_ST in [V, K].
template <class Real>
Gradients<Real> backward(const Inputs<Real>& x, const Matrix<Real>& d_o, const Matrix<Real>& d_ST) {
  using std::exp;
  const auto S = forward(x).S;
  Gradients<Real> d{Matrix<Real>(x.q), Matrix<Real>(x.k),    Matrix<Real>(x.v),
                    Vector<Real>(x.g), Vector<Real>(x.beta), d_ST};
  Matrix<Real>& dS = d.S0;
  for (Eigen::Index t = x.q.rows(); t-- > 0;) {
    const Vector<Real> k = x.k.row(t).transpose(), v = x.v.row(t).transpose();
    const Real alpha = exp(x.g(t)), beta = x.beta(t);
    // o_t = scale S_t q_t
    d.q.row(t) = x.scale * (S[t + 1].transpose() * d_o.row(t).transpose()).transpose();
    dS += x.scale * d_o.row(t).transpose() * x.q.row(t);
    // S_t = alpha S_{t-1} (I - beta k k^T) + beta v k^T
    const Matrix<Real> M = alpha * S[t].transpose() * dS;  // gradient of I - beta k k^T, [K, K]
    const Vector<Real> dS_k = dS * k;
    d.v.row(t) = beta * dS_k.transpose();
    d.k.row(t) = beta * (dS.transpose() * v - M * k - M.transpose() * k).transpose();
    d.beta(t) = v.dot(dS_k) - k.dot(M * k);
    d.g(t) = alpha * dS.cwiseProduct(erase(x, t, S[t])).sum();
    dS = (alpha * erase(x, t, dS)).eval();  // I - beta k k^T is symmetric
  }
  return d;
}

}  // namespace gdr2::gated_deltanet
