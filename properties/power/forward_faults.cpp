// SPDX-License-Identifier: Apache-2.0
// Faults in the equations of the chunk forward (docs/MATH.md 4), as real kernels had them; those in what a
// chunk starts from are in row_faults.cpp.
#include <cmath>

#include "properties/power/spoil.hpp"

namespace gdr2::power {
namespace {

using chunk::Site;
using Change = std::function<void(Stages&)>;

constexpr auto kExp = [](double x) { return std::exp(x); };
constexpr auto kExp2 = [](double x) { return std::exp2(x); };

/// exp(G_{i - late} - G_j) by prefix sums.
auto pair_decay(const Stages& s, Index late) {
  return [G = prefix_decay(s), late](Index i, Index j, Index c) {
    return std::exp(std::min(0.0, G(i + 1 - late, c) - G(j + 1, c)));
  };
}

/// The products of the rescaled factors x exp(G - G_a) and k exp(G_a - G), as fp32 forms them.
M factored(const M& x, const M& k, const Stages& s, bool strict, Index anchor, float most) {
  const auto G = prefix_decay(s);
  return scores_of(x, k, strict, [&](Index i, Index j, Index c) {
    const float up = std::min(most, std::exp(float(G(anchor + 1, c) - G(j + 1, c))));
    return double(std::exp(float(G(i + 1, c) - G(anchor + 1, c))) * up);
  });
}

void rescore(Stages& s, const std::function<double(Index, Index, Index)>& decay) {
  s.T = scores_of(s.e, s.k, true, decay);
  s.Aqk = scores_of(s.q, s.k, false, decay);
}

std::vector<Fault> of_decays() {
  const auto at_decays = [](const char* name, const char* kind, const char* what, Change change) {
    return stage_fault(name, kind, what, Site::kDecays, std::move(change));
  };
  return {
      at_decays("Qg_base_2", "formula convention", "2^G in Q gamma",
                [](Stages& s) { s.Qg = decayed_from_start(s, s.q, 0, kExp2); }),
      at_decays("Ebar_base_2", "formula convention", "2^G in E gamma",
                [](Stages& s) { s.Ebar = decayed_from_start(s, s.e, 0, kExp2); }),
      at_decays("Qg_before_decay", "formula convention",
                "reads the state before this token's decay",
                [](Stages& s) { s.Qg = decayed_from_start(s, s.q, 1, kExp); }),
      at_decays("Ebar_before_decay", "formula convention", "erases before this token's decay",
                [](Stages& s) { s.Ebar = decayed_from_start(s, s.e, 1, kExp); }),
      at_decays("Qg_not_decayed", "formula convention", "reads the state undecayed",
                [](Stages& s) { s.Qg = s.q; }),
      at_decays("Ebar_not_decayed", "formula convention", "erases from the undecayed state",
                [](Stages& s) { s.Ebar = s.e; }),
      at_decays("Kt_not_decayed", "formula convention", "writes reach the chunk's end undecayed",
                [](Stages& s) { s.Kt = s.k; }),
      at_decays("Kt_own_decay", "formula convention", "a write decays by its own token's gate too",
                [](Stages& s) {
                  const auto G = prefix_decay(s);
                  for (Index i = 0; i < s.rows; ++i)
                    for (Index c = 0; c < s.k.cols(); ++c)
                      s.Kt(i, c) = float(s.k(i, c) * std::exp(G(s.g.rows(), c) - G(i, c)));
                }),
      at_decays("Kt_unanchored", "decay range", "Kt = (K exp(-G)) exp(G_C) in fp32",
                [](Stages& s) {
                  const auto G = prefix_decay(s);
                  for (Index i = 0; i < s.rows; ++i)
                    for (Index c = 0; c < s.k.cols(); ++c)
                      s.Kt(i, c) = s.k(i, c) * std::exp(float(-G(i + 1, c))) *
                                   std::exp(float(G(s.g.rows(), c)));
                }),
      at_decays("gamma_without_last", "tail chunk", "gamma_C without the last token's gate",
                [](Stages& s) {
                  const auto G = prefix_decay(s);
                  for (Index c = 0; c < s.k.cols(); ++c)
                    s.gamma_C(c) = float(std::exp(G(s.rows - 1, c)));
                }),
      at_decays("end_at_row_63", "tail chunk", "G_C of a short chunk read at row 63, where it is 0",
                [](Stages& s) {
                  if (s.rows == s.g.rows()) return;
                  const auto G = prefix_decay(s);
                  for (Index i = 0; i < s.rows; ++i)
                    for (Index c = 0; c < s.k.cols(); ++c)
                      s.Kt(i, c) = s.k(i, c) * std::exp(float(-G(i + 1, c)));
                  s.gamma_C.setOnes();
                }),
      at_decays("gamma_one", "formula convention", "the state passes the chunk undecayed",
                [](Stages& s) { s.gamma_C.setOnes(); }),
      at_decays("gamma_of_first_channel", "formula convention", "gamma_C of channel 0 for all",
                [](Stages& s) { s.gamma_C.setConstant(s.gamma_C(0)); }),
      at_decays("gamma_bf16", "precision", "gamma_C rounded to bf16",
                [](Stages& s) {
                  M row = s.gamma_C;
                  round_to(Format::kBF16, row);
                  s.gamma_C = row;
                }),
  };
}

std::vector<Fault> of_scores() {
  const auto at_scores = [](const char* name, const char* kind, const char* what, Change change) {
    return stage_fault(name, kind, what, Site::kScores, std::move(change));
  };
  constexpr float kInf = HUGE_VALF;
  return {
      at_scores("unanchored", "decay range", "scores from exp(G) and exp(-G)",
                [](Stages& s) {
                  s.T = factored(s.e, s.k, s, true, -1, kInf);
                  s.Aqk = factored(s.q, s.k, s, false, -1, kInf);
                }),
      at_scores("anchor_clamped", "decay range", "exp(-G) clamped at 2^126",
                [](Stages& s) {
                  s.T = factored(s.e, s.k, s, true, -1, 0x1p126f);
                  s.Aqk = factored(s.q, s.k, s, false, -1, 0x1p126f);
                }),
      at_scores("anchor_last", "causality", "one anchor for all rows: the last one",
                [](Stages& s) {
                  s.T = factored(s.e, s.k, s, true, s.rows - 1, kInf);
                  s.Aqk = factored(s.q, s.k, s, false, s.rows - 1, kInf);
                }),
      at_scores("anchor_middle", "decay range", "one anchor for all rows: the middle one",
                [](Stages& s) {
                  s.T = factored(s.e, s.k, s, true, s.rows / 2, kInf);
                  s.Aqk = factored(s.q, s.k, s, false, s.rows / 2, kInf);
                }),
      at_scores("mask_after", "decay range", "mask applied to the result, not to the exponent",
                [](Stages& s) {
                  const auto G = prefix_decay(s);
                  for (Index i = 0; i < s.rows; ++i)
                    for (Index j = i + 1; j < s.rows; ++j)
                      for (Index c = 0; c < s.k.cols(); ++c)
                        s.Aqk(i, j) += 0 * std::exp(float(G(i + 1, c) - G(j + 1, c)));
                }),
      at_scores("base_2", "formula convention", "2^(G_i - G_j) in the scores",
                [](Stages& s) {
                  rescore(s, [f = pair_decay(s, 0)](Index i, Index j, Index c) {
                    return std::pow(f(i, j, c), 0.6931471805599453);
                  });
                }),
      at_scores("not_decayed", "formula convention", "scores without decay",
                [](Stages& s) { rescore(s, [](Index, Index, Index) { return 1; }); }),
      at_scores("scalar_decay", "formula convention", "scores times the channel mean of the decay",
                [](Stages& s) {
                  const auto f = pair_decay(s, 0);
                  rescore(s, [&](Index i, Index j, Index) {
                    double sum = 0;
                    for (Index c = 0; c < s.k.cols(); ++c) sum += f(i, j, c);
                    return sum / double(s.k.cols());
                  });
                }),
      at_scores("erase_before_decay", "formula convention", "T and Ebar before the row's own decay",
                [](Stages& s) {
                  s.T = scores_of(s.e, s.k, true, pair_decay(s, 1));
                  s.Ebar = decayed_from_start(s, s.e, 1, kExp);
                }),
      at_scores("T_inclusive", "formula convention", "T with its diagonal",
                [](Stages& s) { s.T = scores_of(s.e, s.k, false, pair_decay(s, 0)); }),
      at_scores("Aqk_strict", "formula convention", "the output does not see its token's write",
                [](Stages& s) { s.Aqk.diagonal().setZero(); }),
      at_scores("Aqk_full", "causality", "Aqk without its mask, inside 16-row blocks",
                [](Stages& s) {
                  for (Index i = 0; i < s.rows; ++i)
                    for (Index j = i + 1; j < std::min(s.rows, (i / kBlock + 1) * kBlock); ++j)
                      s.Aqk(i, j) = s.q.row(i).dot(s.k.row(j));
                }),
      at_scores("Aqk_with_e", "erase and write gates", "q e in place of q k",
                [](Stages& s) { s.Aqk = scores_of(s.q, s.e, false, pair_decay(s, 0)); }),
      at_scores("T_symmetric", "erase and write gates", "k k in place of e k",
                [](Stages& s) { s.T = scores_of(s.k, s.k, true, pair_decay(s, 0)); }),
      at_scores("last_block_row_T", "tail chunk", "the last, partial 16-row block of T skipped",
                [](Stages& s) {
                  if (s.rows % kBlock) drop_last_block(s.T, s.rows);
                }),
      at_scores("far_blocks", "chunk inverse", "T and Aqk without blocks three apart",
                [](Stages& s) {
                  s.T.bottomLeftCorner(kBlock, kBlock).setZero();
                  s.Aqk.bottomLeftCorner(kBlock, kBlock).setZero();
                }),
  };
}

std::vector<Fault> of_inverse() {
  const auto at_inverse = [](const char* name, const char* kind, const char* what, Change change) {
    return stage_fault(name, kind, what, Site::kInverse, std::move(change));
  };
  const auto identity = [](const Stages& s) { return M(M::Identity(s.T.rows(), s.T.cols())); };
  return {
      at_inverse("A_identity", "chunk inverse", "no inverse inside the chunk",
                 [=](Stages& s) { s.A = identity(s); }),
      at_inverse("A_first_order", "chunk inverse", "I - T for (I + T)^-1",
                 [=](Stages& s) { s.A = identity(s) - s.T; }),
      at_inverse("A_second_order", "chunk inverse", "I - T + T^2 for (I + T)^-1",
                 [=](Stages& s) { s.A = identity(s) - s.T + s.T * s.T; }),
      at_inverse("A_other_sign", "chunk inverse", "(I - T)^-1",
                 [](Stages& s) { s.A = inverse_of(-s.T); }),
      at_inverse("A_of_inclusive", "chunk inverse", "(I + T)^-1 of T with its diagonal",
                 [](Stages& s) {
                   s.A = inverse_of(scores_of(s.e, s.k, false, pair_decay(s, 0)));
                 }),
      at_inverse("A_no_cross", "chunk inverse", "inverse of the diagonal blocks, -T between them",
                 [](Stages& s) {
                   for (Index i = 0; i < s.T.rows(); ++i)
                     for (Index j = 0; j < i; ++j)
                       if (i / kBlock != j / kBlock) s.A(i, j) = -s.T(i, j);
                 }),
      at_inverse("A_fp16", "precision", "the inverse stored in fp16",
                 [](Stages& s) { round_to(Format::kF16, s.A); }),
      at_inverse("A_tf32", "precision", "the inverse stored in tf32",
                 [](Stages& s) { round_to(Format::kTF32, s.A); }),
      at_inverse("A_far_block", "chunk inverse", "the farthest block of the inverse is missing",
                 [](Stages& s) { s.A.bottomLeftCorner(kBlock, kBlock).setZero(); }),
      at_inverse("A_neighbour_leak", "packed sequences", "a token past the end leaks into the inverse",
                 [](Stages& s) {
                   if (s.rows < s.A.rows()) s.A(s.rows - 1, 0) += 0.01f;
                 }),
  };
}

std::vector<Fault> of_residual() {
  const auto at_residual = [](const char* name, const char* kind, const char* what, Change change) {
    return stage_fault(name, kind, what, Site::kResidual, std::move(change));
  };
  return {
      at_residual("R_no_erase", "formula convention", "nothing is erased: R = Z",
                  [](Stages& s) { s.R = s.Z; }),
      at_residual("R_no_state", "formula convention", "the entering state is not erased: R = A Z",
                  [](Stages& s) { s.R = s.A * s.Z; }),
      at_residual("R_sign", "formula convention", "R = A (Z + Ebar S)",
                  [](Stages& s) { s.R = s.A * (s.Z + s.Ebar * s.S); }),
      at_residual("R_write_gate_on_erase", "erase and write gates", "w applied to the erase term",
                  [](Stages& s) { s.R = s.A * (s.Z - s.w.cwiseProduct(M(s.Ebar * s.S))); }),
      at_residual("R_half_solved", "chunk inverse", "R = A Z - Ebar S",
                  [](Stages& s) { s.R = s.A * s.Z - s.Ebar * s.S; }),
      at_residual("R_auxiliary_bf16", "precision", "Y and U stored in bf16",
                  [](Stages& s) {
                    M Y = s.A * s.Ebar, U = s.A * s.Z;
                    round_to(Format::kBF16, Y), round_to(Format::kBF16, U);
                    s.R = U - Y * s.S;
                  }),
  };
}

Fault value_fault(const char* name, const char* kind, const char* what, Site site,
                  std::function<void(const Stages&, float scale, M&)> change) {
  return {.name = std::string("forward.") + name,
          .kind = kind,
          .what = what,
          .change = OnChunk{site, [=](const Stages& s, const Seen& seen, M& x) {
                              change(s, seen.scale, x);
                            }}};
}

std::vector<Fault> of_results() {
  const auto output = [](const char* name, const char* kind, const char* what, auto change) {
    return value_fault(name, kind, what, Site::kOutput, change);
  };
  const auto leave = [](const char* name, const char* kind, const char* what, auto change) {
    return value_fault(name, kind, what, Site::kLeave, change);
  };
  using S = Stages;
  return {
      output("o_no_state", "formula convention", "o without the entering state",
             [](const S& s, float scale, M& o) { o = scale * (s.Aqk * s.R); }),
      output("o_no_chunk", "formula convention", "o without the chunk's own writes",
             [](const S& s, float scale, M& o) { o = scale * (s.Qg * s.S); }),
      output("o_not_scaled", "formula convention", "scale forgotten",
             [](const S&, float scale, M& o) { o /= scale; }),
      output("o_scaled_twice", "formula convention", "scale applied twice",
             [](const S&, float scale, M& o) { o *= scale; }),
      output("o_scaled_in_part", "formula convention", "scale applied to one of the two terms",
             [](const S& s, float scale, M& o) { o = scale * (s.Qg * s.S) + s.Aqk * s.R; }),
      output("o_bf16", "precision", "o rounded to bf16 before its own rounding",
             [](const S&, float, M& o) { round_to(Format::kBF16, o); }),
      output("o_with_Z", "formula convention", "o from Z, not from R",
             [](const S& s, float scale, M& o) { o = scale * (s.Qg * s.S + s.Aqk * s.Z); }),
      output("o_last_row", "tail chunk", "the last row of a short chunk is not written",
             [](const S& s, float, M& o) {
               if (s.rows < o.rows()) o.row(s.rows - 1).setZero();
             }),
      output("o_tail_rows_4_11", "tail chunk", "rows 4 .. 11 of the last block 2^-4 too large",
             [](const S& s, float, M& o) {
               const auto begin = (s.rows - 1) / kBlock * kBlock;
               for (Index i = begin + 4; i < std::min(s.rows, begin + 12); ++i) o.row(i) *= 1.0625f;
             }),
      output("o_last_block", "tail chunk", "the last 16-row block of a short chunk is zero",
             [](const S& s, float, M& o) {
               if (s.rows % kBlock) drop_last_block(o, s.rows);
             }),
      output("o_one_element", "one element", "one element of each chunk 1/8 off",
             [](const S& s, float, M& o) { o(s.rows / 2, o.cols() / 3) *= 1.125f; }),
      leave("S_not_decayed", "formula convention", "the state is not decayed when it is added to",
            [](const S& s, float, M& x) { x = s.S + s.Kt.transpose() * s.R; }),
      leave("S_decayed_after", "formula convention", "the update decays with the state",
            [](const S& s, float, M& x) {
              x = s.gamma_C.transpose().asDiagonal() * M(s.S + s.Kt.transpose() * s.R);
            }),
      leave("S_no_update", "state lifecycle", "the state is only decayed",
            [](const S& s, float, M& x) { x = s.gamma_C.transpose().asDiagonal() * s.S; }),
      leave("S_stale_on_tail", "state lifecycle", "a short chunk leaves the state as it was",
            [](const S& s, float, M& x) {
              if (s.rows < s.k.rows()) x = s.S;
            }),
      leave("S_transposed", "layout", "the state leaves transposed, where it is square",
            [](const S&, float, M& x) {
              if (x.rows() == x.cols()) x = x.transpose().eval();
            }),
      leave("S_bf16", "precision", "the state rounded to bf16 at each chunk",
            [](const S&, float, M& x) { round_to(Format::kBF16, x); }),
      leave("S_fp16", "precision", "the state rounded to fp16 at each chunk",
            [](const S&, float, M& x) { round_to(Format::kF16, x); }),
      leave("S_tf32", "precision", "the state rounded to tf32 at each chunk",
            [](const S&, float, M& x) { round_to(Format::kTF32, x); }),
      leave("S_with_Z", "formula convention", "the state is written from Z, not from R",
            [](const S& s, float, M& x) {
              x = s.gamma_C.transpose().asDiagonal() * s.S + s.Kt.transpose() * s.Z;
            }),
      leave("S_last_token", "tail chunk", "the last token is dropped from the state alone",
            [](const S& s, float, M& x) {
              if (s.rows < s.k.rows()) x -= s.Kt.row(s.rows - 1).transpose() * s.R.row(s.rows - 1);
            }),
      leave("S_applied_twice", "autotuning and caches", "the update is added twice",
            [](const S& s, float, M& x) { x += s.Kt.transpose() * s.R; }),
      leave("S_flushed", "precision", "elements of the state below 1e-4 flushed to zero",
            [](const S&, float, M& x) { x = (x.array().abs() < 1e-4f).select(0.f, x); }),
      leave("S_one_element", "one element", "one element of the state 1/64 off",
            [](const S&, float, M& x) { x(x.rows() / 2, x.cols() / 2) *= 1 + 0x1p-6f; }),
  };
}

}  // namespace

std::vector<Fault> forward_faults() {
  std::vector<Fault> all;
  for (auto* part : {of_decays, of_scores, of_inverse, of_residual, of_results})
    for (auto& fault : part()) all.push_back(std::move(fault));
  return all;
}

}  // namespace gdr2::power
