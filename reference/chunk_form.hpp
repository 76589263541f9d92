// SPDX-License-Identifier: Apache-2.0
// The chunk form of the gated delta rule-2, forward and backward (docs/MATH.md 4 and 5), in an
// Arithmetic: exact, it equals the token recurrence; emulated, it is the CPU chunk kernel and the
// ensemble from which error envelopes are made. The backward is in the R/P form.
#pragma once

#include <vector>

#include "reference/decay.hpp"
#include "reference/delta_rule.hpp"
#include "reference/elementwise.hpp"
#include "reference/problem.hpp"

namespace gdr2::chunk {

inline constexpr Eigen::Index kSolveBlock = 16;

/// Places by name. An Arithmetic that has `at(Site, ...)` is called there with what was formed, and may
/// change it: how properties/power plants faults. Others cost nothing.
enum class Site {
  kRows, kDecays, kScores, kInverse, kResidual,        // of Stages, in the order they are formed
  kOutput, kLeave,                                     // O, S_C
  kdO, kdS, kdR, kP, kdAqk, kdT, kdQg, kdEbar, kdKt, kdS0, kdv, kdw,
  kdqState, kdeState, kdkState, kdq, kde, kdk,         // of the state alone, with the scores'
  kdgState, kdgEnd, kdgTerms, kdg, kdb, kdkTotal,
};

/// Everything the forward of one chunk forms. n = 64 rows always: a tail is filled with zero rows
/// (k = b = v = w = q = 0, g = 0), which are neutral everywhere, so sums have the same shape and
/// order whatever the length.
template <class Real>
struct Stages {
  Matrix<Real> q, k, b, e, v, w;   // [n, K], v w [n, V]
  Matrix<Real> g;                  // [n, K]
  Matrix<Real> Qg, Ebar, Kt;       // [n, K] Q gamma, E gamma, K exp(G_C - G)
  RowVector<Real> gamma_C;         // [K]
  Matrix<Real> T, A, Aqk;          // [n, n]
  Matrix<Real> Y, U;               // [n, K], [n, V] A Ebar, A Z as stored; empty when R goes without
  Matrix<Real> Y_operand;          // [n, K] Y as it stands in products with it, forward and backward
  Matrix<Real> Z, R;               // [n, V]
  Matrix<Real> S;                  // [K, V] entering the chunk
  Eigen::Index t = 0, rows = 0;    // first token, tokens
};

template <class Arithmetic>
class ChunkForm : Elementwise<Arithmetic> {
  using Real = typename Arithmetic::Real;
  using Wide = typename Arithmetic::Wide;
  using Index = Eigen::Index;
  using Base = Elementwise<Arithmetic>;
  using Base::plus, Base::row_scaled, Base::scaled, Base::times;

 public:
  ChunkForm(const Arithmetic& ar, const Head<Real>& x)
      : Base(ar), ar_(ar), c_(ar.contract()), x_(x) {}

  HeadOutputs<Real> forward() {
    HeadOutputs<Real> y{Matrix<Real>(x_.T(), x_.V()), x_.S0};
    for (Index t = 0; t < x_.T(); t += kChunk) {
      const auto s = enter(t, y.ST);
      put(s, t, y);
      y.ST = leave(s);
    }
    return y;
  }

  /// The outputs are formed too when `y` is there.
  HeadGradients<Real> backward(const HeadCotangents<Real>& dy, HeadOutputs<Real>* y) {
    const auto T = x_.T(), K = x_.K(), V = x_.V();
    std::vector<Stages<Real>> chunks;
    Matrix<Real> S = x_.S0;
    if (y) y->o.resize(T, V);
    for (Index t = 0; t < T; t += kChunk) {
      chunks.push_back(enter(t, S));
      if (y) put(chunks.back(), t, *y);
      S = leave(chunks.back());
    }
    if (y) y->ST = S;
    HeadGradients<Real> d{Matrix<Real>(T, K), Matrix<Real>(T, K), Matrix<Real>(T, K),
                          Matrix<Real>(T, K), Matrix<Real>(T, V), Matrix<Real>(T, V), dy.ST};
    if (!x_.keep.empty()) d.stages.resize(chunks.size());
    for (auto i = chunks.size(); i-- > 0;) retreat(chunks[i], Index(i) * kChunk, dy.o, d);
    return d;
  }

 private:
  Matrix<Real> product(const Matrix<Real>& a, const Matrix<Real>& b) const {
    return ar_.product(c_.operand, a, b);
  }
  Matrix<Real> add_product(const Matrix<Real>& c, const Matrix<Real>& a,
                           const Matrix<Real>& b) const {
    return ar_.add_product(c_.operand, c, a, b);
  }

  void at(Site site, Stages<Real>& s) const {
    if constexpr (requires { ar_.at(site, s); }) ar_.at(site, s);
  }

  /// x as it was formed at a site.
  Matrix<Real> formed(Site site, const Stages<Real>& s, Matrix<Real> x) const {
    if constexpr (requires { ar_.at(site, s, x); }) ar_.at(site, s, x);
    return x;
  }

  void put(const Stages<Real>& s, Index t, HeadOutputs<Real>& y) const {
    y.o.middleRows(t, rows_at(t)) = output(s).topRows(rows_at(t));
    if (!x_.keep.empty()) y.stages.push_back(kept(s, rows_at(t)));
  }

  Index rows_at(Index t) const { return std::min<Index>(kChunk, x_.T() - t); }

  /// Rows t .. t + 63 of a tensor of the head, zeros past its end.
  Matrix<Real> padded(const Matrix<Real>& x, Index t) const {
    Matrix<Real> y = Matrix<Real>::Zero(kChunk, x.cols());
    y.topRows(rows_at(t)) = x.middleRows(t, rows_at(t));
    return y;
  }

  /// Stages of the chunk that starts at token t with state S.
  Stages<Real> enter(Index t, const Matrix<Real>& S) const {
    Stages<Real> s;
    s.q = padded(x_.q, t), s.k = padded(x_.k, t), s.b = padded(x_.b, t);
    s.v = padded(x_.v, t), s.w = padded(x_.w, t), s.g = padded(x_.g, t);
    s.e = times(s.b, s.k);
    s.Z = times(s.w, s.v);
    s.S = S;
    s.t = t, s.rows = rows_at(t);
    at(Site::kRows, s);
    const Decay<Arithmetic> decay(ar_, s.g);
    s.Qg = decay.from_start(s.q);
    s.Ebar = decay.from_start(s.e);
    s.Kt = decay.to_end(s.k);
    s.gamma_C = decay.across();
    at(Site::kDecays, s);
    scores(decay, s);
    at(Site::kScores, s);
    s.A = inverse(s.T);
    at(Site::kInverse, s);
    if (has_auxiliaries()) store_auxiliaries(s);
    s.R = residual(s);
    at(Site::kResidual, s);
    return s;
  }

  /// T_ij = sum_c e_ic k_jc exp(G_ic - G_jc), i > j;  Aqk likewise with q, i >= j. Directly inside
  /// blocks of direct_rows, as products of rounded operands between them (0: inside them too).
  void scores(const Decay<Arithmetic>& decay, Stages<Real>& s) const {
    const auto n = s.q.rows();
    s.T = Matrix<Real>::Zero(n, n);
    s.Aqk = Matrix<Real>::Zero(n, n);
    const bool direct = c_.direct_rows > 0;
    const auto q_in = direct ? s.q : decay.rounded_inside(s.q, false),
               e_in = direct ? s.e : decay.rounded_inside(s.e, false),
               k_in = direct ? s.k : decay.rounded_inside(s.k, true);
    for (Index I = 0; I < decay.blocks(); ++I) {
      const auto e = decay.from_anchor(s.e, I), q = decay.from_anchor(s.q, I);
      for (Index J = 0; J < I; ++J) {
        const Matrix<Real> k = decay.to_anchor(s.k, J, I).transpose();
        const auto i = decay.begin(I), j = decay.begin(J), m = decay.rows(I), l = decay.rows(J);
        s.T.block(i, j, m, l) = product(e, k);
        s.Aqk.block(i, j, m, l) = product(q, k);
      }
      decay.each_pair(I, [&](Index i, Index j, const RowVector<Real>& d) {
        const Matrix<Real> k = times(k_in.row(j), d);
        const auto dot = [&](const Matrix<Real>& row) {
          return ar_.product(c_.accumulator, row, k.transpose())(0, 0);
        };
        if (i > j) s.T(i, j) = dot(e_in.row(i));
        s.Aqk(i, j) = dot(q_in.row(i));
      });
    }
  }

  /// (I + T)^-1, T strictly lower: substitution inside 16-row blocks, products between them.
  Matrix<Real> inverse(const Matrix<Real>& T) const {
    const auto n = T.rows();
    Matrix<Real> A = Matrix<Real>::Identity(n, n);
    for (Index I = 0; I < n; I += kSolveBlock) {
      const auto m = std::min(kSolveBlock, n - I);
      for (Index j = I; j < I + m; ++j)
        for (Index i = j + 1; i < I + m; ++i) A(i, j) = substitute(T, A, i, j);
      for (Index J = 0; J < I; J += kSolveBlock) {
        const auto sum = ar_.product(c_.solve, T.block(I, J, m, I - J), A.block(J, J, I - J, kSolveBlock));
        A.block(I, J, m, kSolveBlock) = -ar_.product(c_.solve, A.block(I, I, m, m), sum);
      }
    }
    ar_.round(c_.solve, A);
    return A;
  }

  /// A_ij = -sum_{j <= l < i} T_il A_lj, rounded after every term.
  Real substitute(const Matrix<Real>& T, const Matrix<Real>& A, Index i, Index j) const {
    Matrix<Real> sum = Matrix<Real>::Zero(1, 1);
    for (Index l = j; l < i; ++l) {
      sum(0, 0) = ar_.store(Wide(sum(0, 0)) - Wide(T(i, l)) * Wide(A(l, j)));
      ar_.round(c_.solve, sum);
    }
    return sum(0, 0);
  }

  bool has_auxiliaries() const { return c_.auxiliary != Format::kNone; }

  /// U = A Z and Y = A Ebar. Y is rounded to an operand here, once: both passes read the same.
  void store_auxiliaries(Stages<Real>& s) const {
    s.Y = product(s.A, s.Ebar), s.U = product(s.A, s.Z);
    ar_.round(c_.auxiliary, s.Y), ar_.round(c_.auxiliary, s.U);
    s.Y_operand = s.Y;
    ar_.round(c_.operand, s.Y_operand);
  }

  /// R = A (Z - Ebar S), or U - Y S from stored U = A Z and Y = A Ebar.
  Matrix<Real> residual(const Stages<Real>& s) const {
    return has_auxiliaries() ? plus(s.U, -product(s.Y_operand, s.S))
                             : product(s.A, plus(s.Z, -product(s.Ebar, s.S)));
  }

  /// The forward's stages of a chunk of so many rows. Y and U are formed here when R goes without.
  ChunkStages<Real> kept(const Stages<Real>& s, Index rows) const {
    ChunkStages<Real> stages;
    const auto keep = [&](Name name, Index count, const auto& make) {
      keep_stage(x_.keep, stages, name, count, make);
    };
    keep(Name::T, rows, [&] { return s.T; });
    keep(Name::A, rows, [&] { return s.A; });
    keep(Name::Aqk, rows, [&] { return s.Aqk; });
    keep(Name::Y, rows, [&] { return has_auxiliaries() ? s.Y : product(s.A, s.Ebar); });
    keep(Name::U, rows, [&] { return has_auxiliaries() ? s.U : product(s.A, s.Z); });
    keep(Name::H, s.S.rows(), [&] { return s.S; });
    keep(Name::R, rows, [&] { return s.R; });
    return stages;
  }

  /// O = s (Qg S + Aqk R)
  Matrix<Real> output(const Stages<Real>& s) const {
    return formed(Site::kOutput, s,
                  scaled(x_.scale, plus(product(s.Qg, s.S), product(s.Aqk, s.R))));
  }

  /// S_C = Diag(gamma_C) S + Kt^T R
  Matrix<Real> leave(const Stages<Real>& s) const {
    auto S = formed(Site::kLeave, s,
                    add_product(row_scaled(s.gamma_C, s.S), s.Kt.transpose(), s.R));
    ar_.round(c_.state, S);
    return S;
  }

  /// Gradients of the chunk at token t; d.S0 is dS_C on entry and dS of the entering state on return.
  void retreat(const Stages<Real>& s, Index t, const Matrix<Real>& d_o,
               HeadGradients<Real>& d) const {
    const auto n = rows_at(t);
    const Matrix<Real> dO = formed(Site::kdO, s, padded(d_o, t));
    const Matrix<Real> dS = formed(Site::kdS, s, d.S0);
    const auto by_scale = [&](const Matrix<Real>& a) { return this->scaled(x_.scale, a); };
    // O = s (Qg S + Aqk R),  S_C = Diag(gamma_C) S + Kt^T R
    const auto dR = formed(
        Site::kdR, s, plus(by_scale(product(s.Aqk.transpose(), dO)), product(s.Kt, dS)));
    // (I + T) R = Z - Ebar S, differentiated implicitly
    const auto P = formed(Site::kP, s, product(s.A.transpose(), dR));
    if (!d.stages.empty()) {
      auto& stages = d.stages[t / kChunk];
      keep_stage(x_.keep, stages, Name::dH, dS.rows(), [&] { return dS; });
      keep_stage(x_.keep, stages, Name::dR, n, [&] { return dR; });
      keep_stage(x_.keep, stages, Name::P, n, [&] { return P; });
    }
    const auto dAqk = formed(
        Site::kdAqk, s, by_scale(product(dO, s.R.transpose())).template triangularView<Eigen::Lower>());
    const auto dT = formed(
        Site::kdT, s, (-product(P, s.R.transpose())).template triangularView<Eigen::StrictlyLower>());
    const auto dQg = formed(Site::kdQg, s, by_scale(product(dO, s.S.transpose())));
    const auto dEbar = formed(Site::kdEbar, s, -product(P, s.S.transpose()));
    const auto dKt = formed(Site::kdKt, s, product(s.R, dS.transpose()));
    // Ebar^T P = Y^T dR: through whichever the forward has
    const auto kept_dS = plus(row_scaled(s.gamma_C, dS), by_scale(product(s.Qg.transpose(), dO)));
    d.S0 = formed(Site::kdS0, s,
                  has_auxiliaries() ? add_product(kept_dS, -s.Y_operand.transpose(), dR)
                                    : add_product(kept_dS, -s.Ebar.transpose(), P));
    ar_.round(c_.state, d.S0);
    // Z = w * v
    d.v.middleRows(t, n) = formed(Site::kdv, s, times(s.w, P)).topRows(n);
    d.w.middleRows(t, n) = formed(Site::kdw, s, times(s.v, P)).topRows(n);
    const Decay<Arithmetic> decay(ar_, s.g);
    // Qg = gamma Q,  Ebar = gamma E,  Kt = K exp(G_C - G), then the scores
    auto dq = formed(Site::kdqState, s, decay.from_start(dQg));
    auto de = formed(Site::kdeState, s, decay.from_start(dEbar));
    auto dk = formed(Site::kdkState, s, decay.to_end(dKt));
    const auto k_dk_end = times(s.k, dk);
    scores_backward(decay, s, dAqk, dT, dq, de, dk);
    dq = formed(Site::kdq, s, dq), de = formed(Site::kde, s, de), dk = formed(Site::kdk, s, dk);
    d.g.middleRows(t, n) = gate_backward(s, dS, dq, de, dk, k_dk_end).topRows(n);
    // e = b * k
    d.q.middleRows(t, n) = dq.topRows(n);
    d.b.middleRows(t, n) = formed(Site::kdb, s, times(s.k, de)).topRows(n);
    d.k.middleRows(t, n) = formed(Site::kdkTotal, s, plus(dk, times(s.b, de))).topRows(n);
  }

  /// T_ij = e_i . (k_j exp(G_i - G_j)), Aqk_ij = q_i . (k_j exp(G_i - G_j)): adds to dq, de, dk.
  void scores_backward(const Decay<Arithmetic>& decay, const Stages<Real>& s,
                       const Matrix<Real>& dAqk, const Matrix<Real>& dT, Matrix<Real>& dq,
                       Matrix<Real>& de, Matrix<Real>& dk) const {
    const auto add = [&](auto&& to, const Matrix<Real>& x) { to = this->plus(to, x); };
    const Matrix<Real> ones = Matrix<Real>::Ones(s.q.rows(), s.q.cols());
    for (Index I = 0; I < decay.blocks(); ++I) {
      const auto i = decay.begin(I), m = decay.rows(I);
      const auto row_decay = decay.from_anchor(ones, I);
      const auto q = decay.from_anchor(s.q, I), e = decay.from_anchor(s.e, I);
      for (Index J = 0; J < I; ++J) {
        const auto j = decay.begin(J), l = decay.rows(J);
        const auto k = decay.to_anchor(s.k, J, I), column_decay = decay.to_anchor(ones, J, I);
        const Matrix<Real> dA = dAqk.block(i, j, m, l), dt = dT.block(i, j, m, l);
        add(dq.middleRows(i, m), times(row_decay, product(dA, k)));
        add(de.middleRows(i, m), times(row_decay, product(dt, k)));
        add(dk.middleRows(j, l), times(column_decay, plus(product(dA.transpose(), q),
                                                          product(dt.transpose(), e))));
      }
      decay.each_pair(I, [&](Index r, Index j, const RowVector<Real>& decay_rj) {
        const auto k = times(s.k.row(j), decay_rj);
        add(dq.row(r), scaled(dAqk(r, j), k));
        if (r > j) add(de.row(r), scaled(dT(r, j), k));
        const auto row = plus(scaled(dAqk(r, j), s.q.row(r)), scaled(dT(r, j), s.e.row(r)));
        add(dk.row(j), times(row, decay_rj));
      });
    }
  }

  /// dG = q * dq + e * de - k * dk, the last row also k * dk of the exit decay summed over rows and
  /// gamma_C * rowsum(dS * S); dg is its reverse cumulative sum. Where exp(g) underflows, |dg| <=
  /// exp(g) |dSbar| |S| does too: 0 is stored, not what the sum left over (A_log would get g times it).
  Matrix<Real> gate_backward(const Stages<Real>& s, const Matrix<Real>& dS, const Matrix<Real>& dq,
                             const Matrix<Real>& de, const Matrix<Real>& dk,
                             const Matrix<Real>& k_dk_end) const {
    const auto n = s.q.rows(), K = s.q.cols();
    Matrix<Real> sum = Matrix<Real>::Zero(1, K);
    for (Index c = 0; c < K; ++c)
      sum(0, c) = product(dS.row(c), s.S.row(c).transpose())(0, 0);
    sum = formed(Site::kdgState, s, times(s.gamma_C, sum));
    for (Index r = 0; r < n; ++r) sum = plus(sum, k_dk_end.row(r));
    sum = formed(Site::kdgEnd, s, sum);
    auto dg = formed(Site::kdgTerms, s,
                     plus(plus(times(s.q, dq), times(s.e, de)), -times(s.k, dk)));
    for (Index r = n; r-- > 0;) {
      sum = plus(sum, dg.row(r));
      dg.row(r) = sum;
    }
    if (c_.accumulator != Format::kNone) {
      const auto least = Real(traits(c_.accumulator).min_exponent * 0.6931471805599453);
      dg = (s.g.array() < least).select(Real(0), dg);
    }
    return formed(Site::kdg, s, dg);
  }

  const Arithmetic& ar_;
  const Contract& c_;
  const Head<Real>& x_;
};

}  // namespace gdr2::chunk

namespace gdr2 {

/// The chunk form as a rule for reference/run.hpp.
struct ChunkRule {
  template <class Arithmetic, class Real>
  HeadOutputs<Real> forward(const Arithmetic& ar, const Head<Real>& x) const {
    return chunk::ChunkForm<Arithmetic>(ar, x).forward();
  }
  template <class Arithmetic, class Real>
  HeadGradients<Real> backward(const Arithmetic& ar, const Head<Real>& x,
                               const HeadCotangents<Real>& dy,
                               HeadOutputs<Real>* y = nullptr) const {
    return chunk::ChunkForm<Arithmetic>(ar, x).backward(dy, y);
  }
};

}  // namespace gdr2
