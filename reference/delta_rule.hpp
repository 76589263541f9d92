// SPDX-License-Identifier: Apache-2.0
// The gated delta rule-2, token by token, for one head and one sequence: forward and backward.
// This file IS the definition that everything else is judged by (docs/MATH.md 2 and 3). It is
// templated on Real, uses no exponential and no division, and so is exact in exact rationals.
// The backward keeps a checkpoint every sqrt(T) tokens, never a state per token.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/real.hpp"
#include "reference/stages.hpp"

namespace gdr2 {

/// Inputs of one head and one sequence, after every in-kernel option has been applied.
template <class Real>
struct Head {
  Matrix<Real> q, k, b;  // [T, K]
  Matrix<Real> g;        // [T, K] log decay; only the chunk form reads it
  Matrix<Real> alpha;    // [T, K] exp(g); only the token rule reads it
  Matrix<Real> v, w;     // [T, V]
  Matrix<Real> S0;       // [K, V]
  Real scale{1};
  std::vector<Name> keep{};  ///< stages that a chunk form records beside its results

  Eigen::Index T() const { return q.rows(); }
  Eigen::Index K() const { return q.cols(); }
  Eigen::Index V() const { return v.cols(); }
};

template <class Real>
struct HeadOutputs {
  Matrix<Real> o;   // [T, V]
  Matrix<Real> ST;  // [K, V]
  std::vector<ChunkStages<Real>> stages{};  ///< by chunk; empty when nothing is kept
};

template <class Real>
struct HeadCotangents {
  Matrix<Real> o;   // [T, V]
  Matrix<Real> ST;  // [K, V]
};

template <class Real>
struct HeadGradients {
  Matrix<Real> q, k, g, b;  // [T, K]
  Matrix<Real> v, w;        // [T, V]
  Matrix<Real> S0;          // [K, V]
  std::vector<ChunkStages<Real>> stages{};
};

namespace token {

/// What one token did: the decayed state it found and what it wrote.
template <class Real>
struct Step {
  Matrix<Real> Sbar;  // [K, V]
  RowVector<Real> u;  // [V]
};

/// S: state before token t; on return the state after it.
template <class Real>
Step<Real> advance(const Head<Real>& x, Eigen::Index t, Matrix<Real>& S) {
  Step<Real> step;
  step.Sbar = x.alpha.row(t).transpose().asDiagonal() * S;
  const RowVector<Real> e = x.b.row(t).cwiseProduct(x.k.row(t));
  step.u = x.w.row(t).cwiseProduct(x.v.row(t));
  step.u.noalias() -= e * step.Sbar;
  S = step.Sbar;
  S.noalias() += x.k.row(t).transpose() * step.u;
  return step;
}

/// L: dL/dS_t without token t's output on entry; dL/dS_{t-1} on return.
template <class Real>
void retreat(const Head<Real>& x, Eigen::Index t, const Step<Real>& step,
             const RowVector<Real>& d_o, Matrix<Real>& L, HeadGradients<Real>& d) {
  const auto& Sbar = step.Sbar;
  const auto& u = step.u;
  const RowVector<Real> k = x.k.row(t), b = x.b.row(t), q = x.q.row(t);
  const RowVector<Real> e = b.cwiseProduct(k);
  // o_t = s S_t^T q_t with S_t = Sbar_t + k_t u_t^T
  const Real u_do = u.dot(d_o);
  d.q.row(t).noalias() = x.scale * (d_o * Sbar.transpose());
  d.q.row(t) += (x.scale * u_do) * k;
  L.noalias() += (x.scale * q).transpose() * d_o;
  // S_t = Sbar_t + k_t u_t^T
  const RowVector<Real> du = k * L;
  d.k.row(t).noalias() = u * L.transpose();
  // u_t = w_t * v_t - Sbar_t^T e_t
  d.v.row(t) = x.w.row(t).cwiseProduct(du);
  d.w.row(t) = x.v.row(t).cwiseProduct(du);
  const RowVector<Real> de = -(du * Sbar.transpose());
  L.noalias() -= e.transpose() * du;  // now dSbar_t
  // e_t = b_t * k_t
  d.b.row(t) = k.cwiseProduct(de);
  d.k.row(t) += b.cwiseProduct(de);
  // Sbar_t = Diag(exp g_t) S_{t-1}
  d.g.row(t) = L.cwiseProduct(Sbar).rowwise().sum().transpose();
  L = (x.alpha.row(t).transpose().asDiagonal() * L).eval();
}

template <class Real>
HeadOutputs<Real> forward(const Head<Real>& x) {
  HeadOutputs<Real> y{Matrix<Real>(x.T(), x.V()), x.S0};
  for (Eigen::Index t = 0; t < x.T(); ++t) {
    advance(x, t, y.ST);
    y.o.row(t).noalias() = (x.scale * x.q.row(t)) * y.ST;
  }
  return y;
}

template <class Real>
HeadGradients<Real> backward(const Head<Real>& x, const HeadCotangents<Real>& dy) {
  const auto T = x.T(), K = x.K(), V = x.V();
  HeadGradients<Real> d{Matrix<Real>(T, K), Matrix<Real>(T, K), Matrix<Real>(T, K),
                        Matrix<Real>(T, K), Matrix<Real>(T, V), Matrix<Real>(T, V), dy.ST};
  const auto span = std::max<Eigen::Index>(1, std::llround(std::sqrt(double(T))));
  std::vector<Matrix<Real>> checkpoints;  // the state before tokens 0, span, 2 span, ...
  Matrix<Real> S = x.S0;
  for (Eigen::Index t = 0; t < T; ++t) {
    if (t % span == 0) checkpoints.push_back(S);
    advance(x, t, S);
  }
  std::vector<Step<Real>> steps(span);
  for (auto segment = Eigen::Index(checkpoints.size()); segment-- > 0;) {
    const auto begin = segment * span, end = std::min(T, begin + span);
    S = checkpoints[segment];
    for (auto t = begin; t < end; ++t) steps[t - begin] = advance(x, t, S);
    for (auto t = end; t-- > begin;) retreat<Real>(x, t, steps[t - begin], dy.o.row(t), d.S0, d);
  }
  return d;
}

}  // namespace token

/// The token recurrence as a rule that reference/run.hpp can apply to every head of a problem.
struct TokenRule {
  template <class Arithmetic, class Real>
  HeadOutputs<Real> forward(const Arithmetic&, const Head<Real>& x) const {
    return token::forward(x);
  }
  template <class Arithmetic, class Real>
  HeadGradients<Real> backward(const Arithmetic&, const Head<Real>& x,
                               const HeadCotangents<Real>& dy) const {
    return token::backward(x, dy);
  }
};

}  // namespace gdr2
