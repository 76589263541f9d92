// SPDX-License-Identifier: Apache-2.0
// Faults in the token loop (docs/MATH.md 2 and 3), which decoding runs, and faults in the inputs of a
// head, which are planted in both forms.
#include <cmath>

#include "properties/power/spoil.hpp"

namespace gdr2::power {
namespace {

using token::Site;
using H = Head<float>;

Fault at(Site site, const char* name, const char* kind, const char* what,
         std::function<void(const H&, Index, M&)> change, Pass pass = Pass::kBoth) {
  return {.name = std::string("decode.") + name,
          .kind = kind,
          .what = what,
          .form = Form::kToken,
          .pass = pass,
          .change = OnToken{site, std::move(change)}};
}

constexpr const char* kConvention = "formula convention";
constexpr const char* kGates = "erase and write gates";

std::vector<Fault> of_steps() {
  const auto round = [](Format format) {
    return [format](const H&, Index, M& x) { round_to(format, x); };
  };
  return {
      at(Site::kDecay, "decay_dropped", kConvention, "the state does not decay at odd tokens",
         [](const H& h, Index t, M& x) {
           if (t % 2) x = h.alpha.row(t).cwiseInverse().transpose().asDiagonal() * x;
         }),
      at(Site::kDecay, "first_decay_dropped", "state lifecycle", "the initial state does not decay",
         [](const H& h, Index t, M& x) {
           if (t == 0) x = h.S0;
         }),
      at(Site::kDecay, "stale_state", "state lifecycle", "token 1 starts from the initial state again",
         [](const H& h, Index t, M& x) {
           if (t == 1) x = h.alpha.row(t).transpose().asDiagonal() * h.S0;
         }),
      at(Site::kDecay, "last_channel_not_decayed", "dimensions", "the last channel does not decay",
         [](const H& h, Index t, M& x) {
           const float a = h.alpha(t, h.K() - 1);
           if (a > 0) x.row(x.rows() - 1) /= a;
         }),
      at(Site::kDecay, "Sbar_bf16", "precision", "the decayed state rounded to bf16",
         round(Format::kBF16)),
      at(Site::kDecay, "Sbar_tf32", "precision", "the decayed state rounded to tf32",
         round(Format::kTF32)),
      at(Site::kErase, "erase_zero", kConvention, "nothing is erased",
         [](const H&, Index, M& x) { x.setZero(); }),
      at(Site::kErase, "erase_with_k", kGates, "erases with k",
         [](const H& h, Index t, M& x) { x = h.k.row(t); }),
      at(Site::kErase, "erase_mean", kGates, "e averaged over channels",
         [](const H&, Index, M& x) { row_means(x); }),
      at(Site::kErase, "erase_sign", kConvention, "erases with -e",
         [](const H&, Index, M& x) { x = -x; }),
      at(Site::kErase, "erase_last_channel", "dimensions", "the last channel is not erased",
         [](const H&, Index, M& x) { drop_column(x, x.cols() - 1); }),
      at(Site::kErase, "erase_bf16", "precision", "e rounded to bf16", round(Format::kBF16)),
      at(Site::kWrite, "write_zero", kConvention, "nothing is written",
         [](const H&, Index, M& x) { x.setZero(); }),
      at(Site::kWrite, "write_ungated", kGates, "writes v - read",
         [](const H& h, Index t, M& x) {
           x += (RowVector<float>::Ones(h.V()) - h.w.row(t)).cwiseProduct(h.v.row(t));
         }),
      at(Site::kWrite, "write_gate_on_all", kGates, "w applied to the erase term too",
         [](const H& h, Index t, M& x) { x = h.w.row(t).cwiseProduct(h.v.row(t) + x.row(0) - h.w.row(t).cwiseProduct(h.v.row(t))).eval(); }),
      at(Site::kWrite, "write_bf16", "precision", "u rounded to bf16", round(Format::kBF16)),
      at(Site::kWrite, "write_last_channel", "dimensions", "the last value channel is not written",
         [](const H&, Index, M& x) { drop_column(x, x.cols() - 1); }),
      at(Site::kWrite, "write_last_token", "tail chunk", "the last token is not written",
         [](const H& h, Index t, M& x) {
           if (t == h.T() - 1) x.setZero();
         }),
      at(Site::kState, "state_bf16", "precision", "the state kept in bf16", round(Format::kBF16)),
      at(Site::kState, "state_fp16", "precision", "the state kept in fp16", round(Format::kF16)),
      at(Site::kState, "state_tf32", "precision", "the state kept in tf32", round(Format::kTF32)),
      at(Site::kState, "state_transposed", "layout", "the state leaves transposed, where square",
         [](const H& h, Index t, M& x) {
           if (x.rows() == x.cols() && t == h.T() - 1) x = x.transpose().eval();
         }),
      at(Site::kState, "state_one_row", "dimensions", "one row of the state is not updated",
         [](const H& h, Index t, M& x) {
           if (t == 0) x.row(x.rows() - 1) = h.S0.row(x.rows() - 1);
         }),
      at(Site::kState, "state_one_element", "one element", "one element of the state 2^-12 off",
         [](const H& h, Index t, M& x) {
           if (t == h.T() - 1) x(x.rows() / 2, x.cols() / 2) *= 1 + 0x1p-12f;
         }),
      at(Site::kOutput, "o_not_scaled", kConvention, "scale forgotten",
         [](const H& h, Index, M& x) { x /= h.scale; }),
      at(Site::kOutput, "o_zero_first", "state lifecycle", "the first token's output is zero",
         [](const H&, Index t, M& x) {
           if (t == 0) x.setZero();
         }),
      at(Site::kOutput, "o_last_channel", "dimensions", "the last channel of o is zero",
         [](const H&, Index, M& x) { drop_column(x, x.cols() - 1); }),
      at(Site::kOutput, "o_tf32", "precision", "o rounded to tf32", round(Format::kTF32)),
      at(Site::kL, "L_no_output", "gradient terms", "L without q do^T",
         [](const H&, Index, M& x) { x.setZero(); }, Pass::kBackward),
      at(Site::kL, "L_bf16", "precision", "L rounded to bf16", round(Format::kBF16), Pass::kBackward),
      at(Site::kdu, "du_zero", "gradient terms", "du = 0",
         [](const H&, Index, M& x) { x.setZero(); }, Pass::kBackward),
      at(Site::kde, "de_sign", kConvention, "de with the wrong sign",
         [](const H&, Index, M& x) { x = -x; }, Pass::kBackward),
      at(Site::kdSbar, "dSbar_zero_last", "gradient terms", "dSbar of the last channel is zero",
         [](const H&, Index, M& x) { drop_row(x, x.rows() - 1); }, Pass::kBackward),
      at(Site::kdg, "dg_decayed", kConvention, "dg multiplied by exp(g)",
         [](const H& h, Index t, M& x) { x = x.row(0).cwiseProduct(h.alpha.row(t)).eval(); },
         Pass::kBackward),
      at(Site::kdS0, "dS_not_decayed", kConvention, "dS passes a token undecayed",
         [](const H& h, Index t, M& x) {
           for (Index c = 0; c < x.rows(); ++c)
             if (h.alpha(t, c) > 0) x.row(c) /= h.alpha(t, c);
         },
         Pass::kBackward),
      at(Site::kdS0, "dS_bf16", "precision", "dS kept in bf16", round(Format::kBF16),
         Pass::kBackward),
  };
}

struct HeadWay {
  const char *name, *kind, *what;
  std::function<void(H&)> change;
};

void exponentiate(H& h) { h.alpha = h.g.array().exp().matrix(); }

const std::vector<HeadWay>& head_ways() {
  static const std::vector<HeadWay> ways{
      {"gates_swapped", kGates, "b and w swapped, on the channels that both have",
       [](H& h) {
         const auto n = std::min(h.K(), h.V());
         const M b = h.b;
         h.b.leftCols(n) = h.w.leftCols(n);
         h.w.leftCols(n) = b.leftCols(n);
       }},
      {"q_and_k_swapped", kConvention, "q and k swapped", [](H& h) { std::swap(h.q, h.k); }},
      {"decay_of_channel_0", "head mapping", "the decay of channel 0 for all",
       [](H& h) {
         for (Index c = 1; c < h.K(); ++c) h.g.col(c) = h.g.col(0).eval();
         exponentiate(h);
       }},
      {"decay_positive", "test practice", "the sign of g lost",
       [](H& h) { h.g = -h.g, exponentiate(h); }},
      {"decay_one_plus", kConvention, "1 + g for exp(g), where it is positive",
       [](H& h) {
         h.alpha = (h.g.array() + 1).max(0.f).matrix();
         h.g = h.alpha.array().log().matrix();
       }},
      {"decay_capped_at_88", "decay range", "g below -88 taken for 0",
       [](H& h) { h.g = (h.g.array() < -88.f).select(0.f, h.g), exponentiate(h); }},
      {"decay_inf_ignored", "decay range", "g = -inf taken for 0",
       [](H& h) {
         h.g = h.g.array().isInf().select(0.f, h.g), exponentiate(h);
       }},
      {"decay_step_lost", "precision", "exp(g) rounded to fp16",
       [](H& h) {
         round_to(Format::kF16, h.alpha);
         h.g = h.alpha.array().log().matrix();
       }},
      {"k_bf16", "precision", "k rounded to bf16", [](H& h) { round_to(Format::kBF16, h.k); }},
      {"v_bf16", "precision", "v rounded to bf16", [](H& h) { round_to(Format::kBF16, h.v); }},
      {"w_bf16", "precision", "w rounded to bf16", [](H& h) { round_to(Format::kBF16, h.w); }},
      {"scale_not_rooted", kConvention, "1 / K for K^-1/2", [](H& h) { h.scale *= h.scale; }},
      {"scale_ignored", "configuration", "scale 1 whatever is asked", [](H& h) { h.scale = 1; }},
      {"b_clamped", kGates, "b clamped at 1", [](H& h) { h.b = h.b.cwiseMin(1.f); }},
      {"b_halved", kGates, "b above 1 taken modulo 1",
       [](H& h) { h.b = (h.b.array() > 1.f).select(M(h.b.array() - 1.f), h.b); }},
      {"entry_state_scaled", "state lifecycle", "the initial state 2^-6 too large",
       [](H& h) { h.S0 *= 1 + 0x1p-6f; }},
      {"last_token_masked", "tail chunk", "the last token neither erases nor writes",
       [](H& h) { h.k.row(h.T() - 1).setZero(); }},
      {"first_token_masked", "tail chunk", "the first token neither erases nor writes",
       [](H& h) { h.k.row(0).setZero(); }},
  };
  return ways;
}

}  // namespace

std::vector<Fault> decode_faults() { return of_steps(); }

std::vector<Fault> head_faults() {
  std::vector<Fault> all;
  for (const auto form : {Form::kChunk, Form::kToken})
    for (const auto& way : head_ways())
      all.push_back({.name = std::string(form == Form::kChunk ? "head." : "decode.head.") + way.name,
                     .kind = way.kind,
                     .what = way.what,
                     .form = form,
                     .change = OnHead{[change = way.change](H& h) {
                       if (h.T() > 0) change(h);
                     }}});
  return all;
}

}  // namespace gdr2::power
