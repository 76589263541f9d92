// SPDX-License-Identifier: Apache-2.0
// DeltaNet (Schlag, Irie, Schmidhuber, arXiv:2102.11174; Yang et al., arXiv:2406.06484), one head,
// as first published: read the value stored under the key, mix it with the new one, swap the two in
// a state of shape [V, K],
//
//   old_t = S_{t-1} k_t,   new_t = beta_t v_t + (1 - beta_t) old_t,
//   S_t = S_{t-1} - old_t k_t^T + new_t k_t^T,   o_t = scale S_t q_t.
//
// An independent road to the gated delta rule-2 with b = w = beta and no decay. It shares nothing
// with reference/delta_rule.hpp.
#pragma once

#include <Eigen/Core>
#include <vector>

namespace gdr2::deltanet {

template <class Real>
using Matrix = Eigen::Matrix<Real, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Real>
using Vector = Eigen::Matrix<Real, Eigen::Dynamic, 1>;

template <class Real>
struct Inputs {
  Matrix<Real> q, k;  // [T, K]
  Matrix<Real> v;     // [T, V]
  Vector<Real> beta;  // [T]
  Matrix<Real> S0;    // [V, K]
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
  Vector<Real> beta;     // [T]
  Matrix<Real> S0;       // [V, K]
};

template <class Real>
Outputs<Real> forward(const Inputs<Real>& x) {
  Outputs<Real> y{Matrix<Real>(x.v.rows(), x.v.cols()), {x.S0}};
  for (Eigen::Index t = 0; t < x.q.rows(); ++t) {
    Matrix<Real> S = y.S.back();
    const Vector<Real> k = x.k.row(t).transpose(), v = x.v.row(t).transpose();
    const Vector<Real> before = S * k;
    const Vector<Real> after = x.beta(t) * v + (Real(1) - x.beta(t)) * before;
    S -= before * k.transpose();
    S += after * k.transpose();
    y.o.row(t) = x.scale * (S * x.q.row(t).transpose()).transpose();
    y.S.push_back(S);
  }
  return y;
}

/// Gradients of sum(o * d_o) + sum(S_T * d_ST), d_ST in [V, K].
template <class Real>
Gradients<Real> backward(const Inputs<Real>& x, const Matrix<Real>& d_o, const Matrix<Real>& d_ST) {
  const auto S = forward(x).S;
  Gradients<Real> d{Matrix<Real>(x.q), Matrix<Real>(x.k), Matrix<Real>(x.v), Vector<Real>(x.beta),
                    d_ST};
  Matrix<Real>& dS = d.S0;
  for (Eigen::Index t = x.q.rows(); t-- > 0;) {
    const Vector<Real> k = x.k.row(t).transpose(), v = x.v.row(t).transpose();
    const Vector<Real> before = S[t] * k;
    const Vector<Real> after = x.beta(t) * v + (Real(1) - x.beta(t)) * before;
    // o_t = scale S_t q_t
    d.q.row(t) = x.scale * (S[t + 1].transpose() * d_o.row(t).transpose()).transpose();
    dS += x.scale * d_o.row(t).transpose() * x.q.row(t);
    // S_t = S_{t-1} - before k^T + after k^T
    const Vector<Real> d_after = dS * k;
    Vector<Real> dk = dS.transpose() * (after - before);
    // after = beta v + (1 - beta) before
    d.v.row(t) = x.beta(t) * d_after.transpose();
    d.beta(t) = d_after.dot(v - before);
    const Vector<Real> d_before = (Real(1) - x.beta(t)) * d_after - d_after;
    // before = S_{t-1} k
    dk += S[t].transpose() * d_before;
    dS += d_before * k.transpose();
    d.k.row(t) = dk.transpose();
  }
  return d;
}

}  // namespace gdr2::deltanet
