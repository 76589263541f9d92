// SPDX-License-Identifier: Apache-2.0
// Faults in the equations of the chunk backward (docs/MATH.md 5), as real kernels had them.
#include <cmath>

#include "properties/power/spoil.hpp"

namespace gdr2::power {
namespace {

using chunk::Site;
using S = Stages;
using Change = std::function<void(const Stages&, const Seen&, M&)>;

Fault at(Site site, const char* name, const char* kind, const char* what, Change change) {
  return {.name = std::string("backward.") + name,
          .kind = kind,
          .what = what,
          .pass = Pass::kBackward,
          .change = OnChunk{site, std::move(change)}};
}

constexpr const char* kTerms = "gradient terms";
constexpr const char* kTail = "tail chunk";
constexpr const char* kConvention = "formula convention";
constexpr const char* kState = "state lifecycle";

M by_rows(const RowVector<float>& d, const M& x) { return d.transpose().asDiagonal() * x; }

std::vector<Fault> of_cotangents() {
  return {
      at(Site::kdO, "do_late", kConvention, "do a row late",
         [](const S&, const Seen&, M& x) { shift_rows(x); }),
      at(Site::kdO, "do_last_row", kTail, "do of the last row of a short chunk not read",
         [](const S& s, const Seen&, M& x) {
           if (s.rows < x.rows()) drop_row(x, s.rows - 1);
         }),
      at(Site::kdO, "do_bf16", "precision", "do rounded to bf16",
         [](const S&, const Seen&, M& x) { round_to(Format::kBF16, x); }),
      at(Site::kdS, "dht_dropped", kTerms, "the final state's cotangent is not read",
         [](const S& s, const Seen&, M& x) {
           if (s.rows < s.k.rows()) x.setZero();
         }),
      at(Site::kdS, "dS_dropped_between", kState, "dS does not pass between chunks",
         [](const S& s, const Seen&, M& x) {
           if (s.rows == s.k.rows()) x.setZero();
         }),
      at(Site::kdS, "dS_transposed", "layout", "dS transposed, where it is square",
         [](const S&, const Seen&, M& x) {
           if (x.rows() == x.cols()) x = x.transpose().eval();
         }),
      at(Site::kdS, "dS_bf16_all", "precision", "dS read through bf16",
         [](const S&, const Seen&, M& x) { round_to(Format::kBF16, x); }),
  };
}

std::vector<Fault> of_solve() {
  return {
      at(Site::kdR, "dR_no_chunk", kTerms, "dR without Aqk^T dO",
         [](const S& s, const Seen& seen, M& x) { x = s.Kt * seen[Site::kdS]; }),
      at(Site::kdR, "dR_no_state", kTerms, "dR without Kt dS",
         [](const S& s, const Seen& seen, M& x) {
           x = seen.scale * (s.Aqk.transpose() * seen[Site::kdO]);
         }),
      at(Site::kdR, "dR_not_scaled", kConvention, "dR without the scale",
         [](const S& s, const Seen& seen, M& x) {
           x = s.Aqk.transpose() * seen[Site::kdO] + s.Kt * seen[Site::kdS];
         }),
      at(Site::kdR, "dR_not_transposed", kTerms, "Aqk dO for Aqk^T dO",
         [](const S& s, const Seen& seen, M& x) {
           x = seen.scale * (s.Aqk * seen[Site::kdO]) + s.Kt * seen[Site::kdS];
         }),
      at(Site::kdR, "dR_undecayed_k", kConvention, "K dS for Kt dS",
         [](const S& s, const Seen& seen, M& x) {
           x = seen.scale * (s.Aqk.transpose() * seen[Site::kdO]) + s.k * seen[Site::kdS];
         }),
      at(Site::kdR, "dR_strict", kConvention, "dR without the diagonal of Aqk",
         [](const S& s, const Seen& seen, M& x) {
           x -= seen.scale * M(s.Aqk.diagonal().asDiagonal() * seen[Site::kdO]);
         }),
      at(Site::kP, "P_not_solved", "chunk inverse", "P = dR",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdR]; }),
      at(Site::kP, "P_not_transposed", kTerms, "A dR for A^T dR",
         [](const S& s, const Seen& seen, M& x) { x = s.A * seen[Site::kdR]; }),
      at(Site::kP, "P_diagonal_blocks", "chunk inverse", "A^T in its diagonal blocks alone",
         [](const S& s, const Seen& seen, M& x) {
           M A = s.A;
           keep_diagonal_blocks(A);
           x = A.transpose() * seen[Site::kdR];
         }),
      at(Site::kP, "P_first_order", "chunk inverse", "I - T^T for (I + T)^-T",
         [](const S& s, const Seen& seen, M& x) {
           x = seen[Site::kdR] - s.T.transpose() * seen[Site::kdR];
         }),
      at(Site::kP, "P_tf32", "precision", "P rounded to tf32",
         [](const S&, const Seen&, M& x) { round_to(Format::kTF32, x); }),
  };
}

std::vector<Fault> of_products() {
  return {
      at(Site::kdAqk, "dAqk_strict", kConvention, "dAqk strictly lower",
         [](const S&, const Seen&, M& x) { x.diagonal().setZero(); }),
      at(Site::kdAqk, "dAqk_not_scaled", kConvention, "dAqk without the scale",
         [](const S&, const Seen& seen, M& x) { x /= seen.scale; }),
      at(Site::kdAqk, "dAqk_of_Z", kTerms, "dO Z^T for dO R^T",
         [](const S& s, const Seen& seen, M& x) {
           x = M(seen.scale * (seen[Site::kdO] * s.Z.transpose())).triangularView<Eigen::Lower>();
         }),
      at(Site::kdT, "dT_without_A", kTerms, "A^T missing in dT: dR R^T",
         [](const S& s, const Seen& seen, M& x) {
           x = M(-seen[Site::kdR] * s.R.transpose()).triangularView<Eigen::StrictlyLower>();
         }),
      at(Site::kdT, "dT_of_Z", kTerms, "P Z^T for P R^T",
         [](const S& s, const Seen& seen, M& x) {
           x = M(-seen[Site::kP] * s.Z.transpose()).triangularView<Eigen::StrictlyLower>();
         }),
      at(Site::kdT, "dT_inclusive", kConvention, "dT with its diagonal",
         [](const S& s, const Seen& seen, M& x) {
           x.diagonal() = -(seen[Site::kP] * s.R.transpose()).diagonal();
         }),
      at(Site::kdQg, "dQg_not_scaled", kConvention, "dQ of the state without the scale",
         [](const S&, const Seen& seen, M& x) { x /= seen.scale; }),
      at(Site::kdQg, "dQg_of_leaving", kConvention, "dQ from the state that leaves the chunk",
         [](const S& s, const Seen& seen, M& x) {
           const M leaving = by_rows(s.gamma_C, s.S) + s.Kt.transpose() * s.R;
           x = seen.scale * (seen[Site::kdO] * leaving.transpose());
         }),
      at(Site::kdEbar, "dEbar_of_dR", kTerms, "dE from dR, not from P",
         [](const S& s, const Seen& seen, M& x) { x = -seen[Site::kdR] * s.S.transpose(); }),
      at(Site::kdKt, "dKt_of_Z", kTerms, "dK of the state from Z, not from R",
         [](const S& s, const Seen& seen, M& x) { x = s.Z * seen[Site::kdS].transpose(); }),
  };
}

std::vector<Fault> of_state() {
  const auto without = [](const char* name, const char* what, auto term) {
    return at(Site::kdS0, name, kTerms, what,
              [=](const S& s, const Seen& seen, M& x) { x -= term(s, seen); });
  };
  return {
      without("dS0_no_decay_term", "dS_0 without Diag(gamma_C) dS",
              [](const S& s, const Seen& seen) { return by_rows(s.gamma_C, seen[Site::kdS]); }),
      without("dS0_no_query", "dS_0 without Qg^T dO",
              [](const S& s, const Seen& seen) {
                return M(seen.scale * (s.Qg.transpose() * seen[Site::kdO]));
              }),
      without("dS0_no_erase", "dS_0 without -Ebar^T P",
              [](const S& s, const Seen& seen) { return M(-s.Ebar.transpose() * seen[Site::kP]); }),
      at(Site::kdS0, "dS0_erase_of_dR", kTerms, "dS_0 with dR for P",
         [](const S& s, const Seen& seen, M& x) {
           x += s.Ebar.transpose() * (seen[Site::kP] - seen[Site::kdR]);
         }),
      at(Site::kdS0, "dS0_erase_sign", kConvention, "dS_0 with +Ebar^T P",
         [](const S& s, const Seen& seen, M& x) { x += 2 * s.Ebar.transpose() * seen[Site::kP]; }),
      at(Site::kdS0, "dS0_not_decayed", kConvention, "dS passes the chunk undecayed",
         [](const S& s, const Seen& seen, M& x) {
           x += seen[Site::kdS] - by_rows(s.gamma_C, seen[Site::kdS]);
         }),
      at(Site::kdS0, "dS0_not_scaled", kConvention, "Qg^T dO without the scale",
         [](const S& s, const Seen& seen, M& x) {
           x += (1 - seen.scale) * (s.Qg.transpose() * seen[Site::kdO]);
         }),
      at(Site::kdS0, "dh0_zero", kTerms, "the initial state gets no gradient",
         [](const S& s, const Seen&, M& x) {
           if (s.t == 0) x.setZero();
         }),
      at(Site::kdS0, "dS0_fp16", "precision", "dS rounded to fp16 at each chunk",
         [](const S&, const Seen&, M& x) { round_to(Format::kF16, x); }),
      at(Site::kdS0, "dS0_one_element", "one element", "one element of dS 1/64 off",
         [](const S&, const Seen&, M& x) { x(x.rows() / 2, x.cols() / 2) *= 1 + 0x1p-6f; }),
  };
}

std::vector<Fault> of_values() {
  return {
      at(Site::kdv, "dv_without_w", kTerms, "dv = P",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kP]; }),
      at(Site::kdv, "dv_of_dR", kTerms, "dv = w dR",
         [](const S& s, const Seen& seen, M& x) { x = s.w.cwiseProduct(seen[Site::kdR]); }),
      at(Site::kdv, "dv_w_mean", "erase and write gates", "dv with the channel mean of w",
         [](const S& s, const Seen& seen, M& x) {
           M w = s.w;
           row_means(w);
           x = w.cwiseProduct(seen[Site::kP]);
         }),
      at(Site::kdv, "dv_zero", kTerms, "dv = 0", [](const S&, const Seen&, M& x) { x.setZero(); }),
      at(Site::kdv, "dv_last_channel", "dimensions", "the last channel of dv is zero",
         [](const S&, const Seen&, M& x) { drop_column(x, x.cols() - 1); }),
      at(Site::kdv, "dv_last_row", kTail, "the last row of dv of a short chunk is zero",
         [](const S& s, const Seen&, M& x) {
           if (s.rows < x.rows()) drop_row(x, s.rows - 1);
         }),
      at(Site::kdv, "dv_one_element", "one element", "one element of dv 1/8 off",
         [](const S& s, const Seen&, M& x) { x(s.rows / 2, x.cols() / 3) *= 1.125f; }),
      at(Site::kdw, "dw_without_v", kTerms, "dw = P",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kP]; }),
      at(Site::kdw, "dw_of_dR", kTerms, "dw = v dR",
         [](const S& s, const Seen& seen, M& x) { x = s.v.cwiseProduct(seen[Site::kdR]); }),
      at(Site::kdw, "dw_mean", "erase and write gates", "dw averaged over channels",
         [](const S&, const Seen&, M& x) { row_means(x); }),
      at(Site::kdw, "dw_zero", kTerms, "dw = 0", [](const S&, const Seen&, M& x) { x.setZero(); }),
      at(Site::kdw, "dw_gated", kConvention, "dw = w v P",
         [](const S& s, const Seen&, M& x) { x = s.w.cwiseProduct(x).eval(); }),
  };
}

std::vector<Fault> of_keys() {
  return {
      at(Site::kdqState, "dq_no_state", kTerms, "dq without the entering state",
         [](const S&, const Seen&, M& x) { x.setZero(); }),
      at(Site::kdqState, "dq_not_decayed", kConvention, "dq of the state not decayed",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdQg]; }),
      at(Site::kdeState, "de_no_state", kTerms, "de without the entering state",
         [](const S&, const Seen&, M& x) { x.setZero(); }),
      at(Site::kdeState, "de_not_decayed", kConvention, "de of the state not decayed",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdEbar]; }),
      at(Site::kdkState, "dk_no_state", kTerms, "dk without the leaving state",
         [](const S&, const Seen&, M& x) { x.setZero(); }),
      at(Site::kdkState, "dk_not_decayed", kConvention, "dk of the state not decayed",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdKt]; }),
      at(Site::kdq, "dq_no_chunk", kTerms, "dq without the chunk's scores",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdqState]; }),
      at(Site::kdq, "dq_zero", kTerms, "dq = 0", [](const S&, const Seen&, M& x) { x.setZero(); }),
      at(Site::kdq, "dq_late", kConvention, "dq a row late",
         [](const S&, const Seen&, M& x) { shift_rows(x); }),
      at(Site::kdq, "dq_last_channel", "dimensions", "the last channel of dq is zero",
         [](const S&, const Seen&, M& x) { drop_column(x, x.cols() - 1); }),
      at(Site::kdq, "dq_last_block", kTail, "the last, partial 16-row block of dq is zero",
         [](const S& s, const Seen&, M& x) {
           if (s.rows % kBlock) drop_last_block(x, s.rows);
         }),
      at(Site::kdq, "dq_one_element", "one element", "one element of dq 1/8 off",
         [](const S& s, const Seen&, M& x) { x(s.rows / 2, x.cols() / 3) *= 1.125f; }),
      at(Site::kde, "de_no_chunk", kTerms, "de without the chunk's scores",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdeState]; }),
      at(Site::kdk, "dk_no_chunk", kTerms, "dk without the chunk's scores",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdkState]; }),
      at(Site::kdb, "db_zero", kTerms, "db = 0", [](const S&, const Seen&, M& x) { x.setZero(); }),
      at(Site::kdb, "db_without_k", kTerms, "db = de",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kde]; }),
      at(Site::kdb, "db_mean", "erase and write gates", "db averaged over channels",
         [](const S&, const Seen&, M& x) { row_means(x); }),
      at(Site::kdb, "db_gated", kConvention, "db = b k de",
         [](const S& s, const Seen&, M& x) { x = s.b.cwiseProduct(x).eval(); }),
      at(Site::kdb, "db_first_row", kTail, "the first row of db is zero",
         [](const S&, const Seen&, M& x) { drop_row(x, 0); }),
      at(Site::kdb, "db_one_element", "one element", "one element of db 1/8 off",
         [](const S& s, const Seen&, M& x) { x(s.rows / 2, x.cols() / 3) *= 1.125f; }),
      at(Site::kdkTotal, "dk_without_e", kTerms, "dk without its path through e",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdk]; }),
      at(Site::kdkTotal, "dk_e_ungated", kTerms, "dk with de, not b de",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdk] + seen[Site::kde]; }),
      at(Site::kdkTotal, "dk_e_sign", kConvention, "dk with -b de",
         [](const S&, const Seen& seen, M& x) { x = 2 * seen[Site::kdk] - x; }),
      at(Site::kdkTotal, "dk_one_row", kTail, "one row of dk in 16 is zero",
         [](const S&, const Seen&, M& x) { drop_row(x, 15); }),
      at(Site::kdkTotal, "dk_one_element", "one element", "one element of dk 1/8 off",
         [](const S& s, const Seen&, M& x) { x(s.rows / 2, x.cols() / 3) *= 1.125f; }),
  };
}

/// dg from its terms, as gate_backward sums them, with the terms and the exit sum given.
M sums_of(const M& terms, const M& exit) {
  M x = terms;
  x.row(x.rows() - 1) += exit.row(0);
  return reverse_sums(x);
}

std::vector<Fault> of_gates() {
  const auto terms = [](const char* name, const char* what, auto change) {
    return at(Site::kdgTerms, name, kTerms, what, change);
  };
  return {
      at(Site::kdgState, "dg_no_ht", kTerms, "dg without rowsum(dS S)",
         [](const S&, const Seen&, M& x) { x.setZero(); }),
      at(Site::kdgState, "dg_ht_undecayed", kConvention, "rowsum(dS S) without gamma_C",
         [](const S& s, const Seen& seen, M& x) {
           x = seen[Site::kdS].cwiseProduct(s.S).rowwise().sum().transpose();
         }),
      at(Site::kdgState, "dg_ht_sign", kConvention, "dg with -rowsum(dS S)",
         [](const S&, const Seen&, M& x) { x = -x; }),
      at(Site::kdgEnd, "dg_no_exit", kTerms, "dg without the exit decay of k",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdgState]; }),
      at(Site::kdgEnd, "dg_exit_last_channel", "dimensions", "the exit sum without its last channel",
         [](const S&, const Seen&, M& x) { drop_column(x, x.cols() - 1); }),
      terms("dg_no_query", "dg without q dq",
            [](const S& s, const Seen& seen, M& x) { x -= s.q.cwiseProduct(seen[Site::kdq]); }),
      terms("dg_no_erase", "dg without the erase term e de",
            [](const S& s, const Seen& seen, M& x) { x -= s.e.cwiseProduct(seen[Site::kde]); }),
      terms("dg_no_key", "dg without -k dk",
            [](const S& s, const Seen& seen, M& x) { x += s.k.cwiseProduct(seen[Site::kdk]); }),
      terms("dg_key_sign", "dg with +k dk",
            [](const S& s, const Seen& seen, M& x) { x += 2 * s.k.cwiseProduct(seen[Site::kdk]); }),
      terms("dg_erase_with_k", "dg with k de for e de",
            [](const S& s, const Seen& seen, M& x) {
              x += (s.k - s.e).cwiseProduct(seen[Site::kde]);
            }),
      at(Site::kdg, "dg_zero", kTerms, "dg = 0", [](const S&, const Seen&, M& x) { x.setZero(); }),
      at(Site::kdg, "dg_forward_sums", kConvention, "forward cumulative sum",
         [](const S&, const Seen& seen, M& x) {
           x = seen[Site::kdgTerms];
           for (Index r = 1; r < x.rows(); ++r) x.row(r) += x.row(r - 1).eval();
         }),
      at(Site::kdg, "dg_exclusive_sums", kConvention, "reverse sum without the row itself",
         [](const S&, const Seen& seen, M& x) { x -= seen[Site::kdgTerms]; }),
      at(Site::kdg, "dg_no_sums", kConvention, "no cumulative sum",
         [](const S&, const Seen& seen, M& x) { x = seen[Site::kdgTerms]; }),
      at(Site::kdg, "dg_block_sums", kConvention, "cumulative sums restart in each 16-row block",
         [](const S&, const Seen& seen, M& x) {
           x = seen[Site::kdgTerms];
           for (Index r = x.rows() - 1; r-- > 0;)
             if ((r + 1) % kBlock) x.row(r) += x.row(r + 1).eval();
         }),
      at(Site::kdg, "dg_exit_at_first_row", kTail, "the exit terms reach the first row alone",
         [](const S&, const Seen& seen, M& x) {
           x = reverse_sums(seen[Site::kdgTerms]);
           x.row(0) += seen[Site::kdgEnd].row(0);
         }),
      at(Site::kdg, "dg_decayed", kConvention, "dg multiplied by exp(g)",
         [](const S& s, const Seen&, M& x) { x.array() *= s.g.array().exp(); }),
      at(Site::kdg, "dg_mean", "erase and write gates", "dg averaged over channels",
         [](const S&, const Seen&, M& x) { row_means(x); }),
      at(Site::kdg, "dg_bf16_sums", "precision", "cumulative sum in bf16",
         [](const S&, const Seen& seen, M& x) {
           const M& term = seen[Site::kdgTerms];
           M sum = seen[Site::kdgEnd];
           for (Index r = x.rows(); r-- > 0;) {
             sum += term.row(r);
             round_to(Format::kBF16, sum);
             x.row(r) = sum;
           }
         }),
      at(Site::kdg, "dg_last_row", kTail, "the last row of dg of a short chunk is zero",
         [](const S& s, const Seen&, M& x) {
           if (s.rows < x.rows()) drop_row(x, s.rows - 1);
         }),
      at(Site::kdg, "dg_resummed", kTail, "the exit terms counted twice",
         [](const S&, const Seen& seen, M& x) {
           x = sums_of(seen[Site::kdgTerms], 2 * seen[Site::kdgEnd]);
         }),
      at(Site::kdg, "dg_one_element", "one element", "one element of dg 1/8 off",
         [](const S& s, const Seen&, M& x) { x(s.rows / 2, x.cols() / 3) *= 1.125f; }),
  };
}

}  // namespace

std::vector<Fault> backward_faults() {
  std::vector<Fault> all;
  for (auto* part : {of_cotangents, of_solve, of_products, of_state, of_values, of_keys, of_gates})
    for (auto& fault : part()) all.push_back(std::move(fault));
  return all;
}

}  // namespace gdr2::power
