// SPDX-License-Identifier: Apache-2.0
// The token recurrence in an Arithmetic: every elementwise result, sum and state update rounds as a
// token-by-token kernel's would. The same equations as reference/delta_rule.hpp, which stays free of
// rounding because it is the definition; the two agree in exact arithmetic (tests).
#pragma once

#include <vector>

#include "reference/arithmetic.hpp"
#include "reference/delta_rule.hpp"
#include "reference/elementwise.hpp"

namespace gdr2::token {

/// Places by name, as chunk::Site.
enum class Site { kDecay, kErase, kWrite, kState, kOutput, kL, kdu, kde, kdSbar, kdg, kdS0 };

template <class Arithmetic>
class TokenForm : Elementwise<Arithmetic> {
  using Real = typename Arithmetic::Real;
  using Index = Eigen::Index;
  using Base = Elementwise<Arithmetic>;
  using Base::plus, Base::row_scaled, Base::scaled, Base::times;

 public:
  TokenForm(const Arithmetic& ar, const Head<Real>& x)
      : Base(ar), ar_(ar), c_(ar.contract()), x_(x) {}

  HeadOutputs<Real> forward() const {
    HeadOutputs<Real> y{Matrix<Real>(x_.T(), x_.V()), x_.S0};
    for (Index t = 0; t < x_.T(); ++t) {
      keep_state(t, y.ST, y);
      advance(t, y.ST);
      y.o.row(t) = output(t, y.ST);
    }
    return y;
  }

  /// The outputs are formed too when `y` is there.
  HeadGradients<Real> backward(const HeadCotangents<Real>& dy, HeadOutputs<Real>* y) const {
    const auto T = x_.T(), K = x_.K(), V = x_.V();
    HeadGradients<Real> d{Matrix<Real>(T, K), Matrix<Real>(T, K), Matrix<Real>(T, K),
                          Matrix<Real>(T, K), Matrix<Real>(T, V), Matrix<Real>(T, V), dy.ST};
    const auto span = std::max<Index>(1, std::llround(std::sqrt(double(T))));
    std::vector<Matrix<Real>> checkpoints;  // the state before tokens 0, span, 2 span, ...
    Matrix<Real> S = x_.S0;
    if (y) y->o.resize(T, V);
    for (Index t = 0; t < T; ++t) {
      if (t % span == 0) checkpoints.push_back(S);
      if (y) keep_state(t, S, *y);
      advance(t, S);
      if (y) y->o.row(t) = output(t, S);
    }
    if (y) y->ST = S;
    const bool keep = wants(x_.keep, Name::dH);
    if (keep) d.stages.resize((T + kChunk - 1) / kChunk);
    std::vector<Step<Real>> steps(span);
    for (auto segment = Index(checkpoints.size()); segment-- > 0;) {
      const auto begin = segment * span, end = std::min(T, begin + span);
      S = checkpoints[segment];
      for (auto t = begin; t < end; ++t) steps[t - begin] = advance(t, S);
      for (auto t = end; t-- > begin;) {
        if (keep && (t + 1 == T || (t + 1) % kChunk == 0))
          d.stages[t / kChunk] = {{Name::dH, d.S0}};
        retreat(t, steps[t - begin], dy.o.row(t), d);
      }
    }
    return d;
  }

 private:
  /// x as it was formed at a site.
  Matrix<Real> formed(Site site, Index t, Matrix<Real> x) const {
    if constexpr (requires { ar_.at(site, x_, t, x); }) ar_.at(site, x_, t, x);
    return x;
  }

  void keep_state(Index t, const Matrix<Real>& S, HeadOutputs<Real>& y) const {
    if (t % kChunk == 0 && wants(x_.keep, Name::H)) y.stages.push_back({{Name::H, S}});
  }

  Matrix<Real> output(Index t, const Matrix<Real>& S) const {
    return formed(Site::kOutput, t, scaled(x_.scale, product(x_.q.row(t), S)));
  }

  Matrix<Real> product(const Matrix<Real>& a, const Matrix<Real>& b) const {
    return ar_.product(c_.operand, a, b);
  }

  /// a + x y^T, one rounding an element.
  Matrix<Real> plus_outer(const Matrix<Real>& a, const RowVector<Real>& x,
                          const RowVector<Real>& y) const {
    using Wide = typename Arithmetic::Wide;
    return ar_.store(Matrix<Wide>(a.template cast<Wide>() + x.template cast<Wide>().transpose() *
                                                                y.template cast<Wide>()));
  }

  Step<Real> advance(Index t, Matrix<Real>& S) const {
    Step<Real> step;
    step.Sbar = formed(Site::kDecay, t, row_scaled(x_.alpha.row(t), S));
    const auto e = formed(Site::kErase, t, times(x_.b.row(t), x_.k.row(t)));
    step.u = formed(Site::kWrite, t,
                    plus(times(x_.w.row(t), x_.v.row(t)), -product(e, step.Sbar)));
    S = formed(Site::kState, t, plus_outer(step.Sbar, x_.k.row(t), step.u));
    ar_.round(c_.state, S);
    return step;
  }

  void retreat(Index t, const Step<Real>& step, const RowVector<Real>& d_o,
               HeadGradients<Real>& d) const {
    const RowVector<Real> k = x_.k.row(t), b = x_.b.row(t), e = times(b, k);
    const Matrix<Real> S = plus_outer(step.Sbar, k, step.u);
    // o_t = s S_t^T q_t
    const auto dO = scaled(x_.scale, d_o);
    d.q.row(t) = product(dO, S.transpose());
    auto L = formed(Site::kL, t, plus_outer(d.S0, x_.q.row(t), dO));
    // S_t = Sbar_t + k_t u_t^T,  u_t = w_t * v_t - Sbar_t^T e_t
    const auto du = formed(Site::kdu, t, product(k, L));
    d.v.row(t) = times(x_.w.row(t), du);
    d.w.row(t) = times(x_.v.row(t), du);
    const auto de = formed(Site::kde, t, -product(du, step.Sbar.transpose()));
    // e_t = b_t * k_t
    d.b.row(t) = times(k, de);
    d.k.row(t) = plus(product(step.u, L.transpose()), times(b, de));
    // Sbar_t = Diag(exp g_t) S_{t-1}
    L = formed(Site::kdSbar, t, plus_outer(L, e, -du));  // dSbar_t
    const auto dg = times(L, step.Sbar);
    d.g.row(t) = formed(Site::kdg, t, product(Matrix<Real>::Ones(1, x_.V()), dg.transpose()));
    d.S0 = formed(Site::kdS0, t, row_scaled(x_.alpha.row(t), L));
    ar_.round(c_.state, d.S0);
  }

  const Arithmetic& ar_;
  const Contract& c_;
  const Head<Real>& x_;
};

}  // namespace gdr2::token

namespace gdr2 {

/// The rounded token recurrence as a rule for reference/run.hpp.
struct RoundedTokenRule {
  template <class Arithmetic, class Real>
  HeadOutputs<Real> forward(const Arithmetic& ar, const Head<Real>& x) const {
    return token::TokenForm<Arithmetic>(ar, x).forward();
  }
  template <class Arithmetic, class Real>
  HeadGradients<Real> backward(const Arithmetic& ar, const Head<Real>& x,
                               const HeadCotangents<Real>& dy,
                               HeadOutputs<Real>* y = nullptr) const {
    return token::TokenForm<Arithmetic>(ar, x).backward(dy, y);
  }
};

}  // namespace gdr2
