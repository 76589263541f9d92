// SPDX-License-Identifier: Apache-2.0
// Faults in what a chunk of the forward starts from (docs/MATH.md 4): its rows of q, k, v, b, w and g, and the
// state that enters it.
#include "properties/power/spoil.hpp"

namespace gdr2::power {

using chunk::Site;
using Change = std::function<void(Stages&)>;

std::vector<Fault> row_faults() {
  const auto at_rows = [](const char* name, const char* kind, const char* what, Change change) {
    return stage_fault(name, kind, what, Site::kRows, std::move(change));
  };
  return {
      at_rows("b_mean", "erase and write gates", "b replaced by its channel mean",
              [](Stages& s) { row_means(s.b), s.e = s.b.cwiseProduct(s.k); }),
      at_rows("w_mean", "erase and write gates", "w replaced by its channel mean",
              [](Stages& s) { row_means(s.w), s.Z = s.w.cwiseProduct(s.v); }),
      at_rows("erase_with_k", "erase and write gates", "erases with k, not e",
              [](Stages& s) { s.e = s.k; }),
      at_rows("write_without_w", "erase and write gates", "writes v, not w v",
              [](Stages& s) { s.Z = s.v; }),
      at_rows("b_on_value", "erase and write gates", "w of a row scaled by b as well",
              [](Stages& s) {
                for (Index i = 0; i < s.rows; ++i) s.Z.row(i) *= s.b.row(i).mean();
              }),
      at_rows("b_applied_twice", "formula convention", "e = b b k",
              [](Stages& s) { s.e = s.b.cwiseProduct(s.e).eval(); }),
      at_rows("w_applied_twice", "formula convention", "Z = w w v",
              [](Stages& s) { s.Z = s.w.cwiseProduct(s.Z).eval(); }),
      at_rows("b_rounded_twice", "precision", "b rounded to bf16 once more",
              [](Stages& s) { round_to(Format::kBF16, s.b), s.e = s.b.cwiseProduct(s.k); }),
      at_rows("write_key_gated", "erase and write gates", "writes with e where k belongs",
              [](Stages& s) { s.k = s.b.cwiseProduct(s.k).eval(); }),
      at_rows("decay_bf16", "precision", "log decay rounded to bf16",
              [](Stages& s) { round_to(Format::kBF16, s.g); }),
      at_rows("decay_mean", "formula convention", "one decay a row: the channel mean",
              [](Stages& s) { row_means(s.g); }),
      at_rows("decay_twice", "formula convention", "decay applied twice",
              [](Stages& s) { s.g *= 2; }),
      at_rows("decay_base_2", "formula convention", "2^g for e^g everywhere",
              [](Stages& s) { s.g *= 0.69314718f; }),
      at_rows("decay_late", "formula convention", "each row takes the decay of the one before",
              [](Stages& s) { shift_rows(s.g); }),
      at_rows("decay_clamped", "decay range", "log decay clamped at -5",
              [](Stages& s) { s.g = s.g.cwiseMax(-5.f); }),
      at_rows("decay_clamped_20", "decay range", "log decay clamped at -20",
              [](Stages& s) { s.g = s.g.cwiseMax(-20.f); }),
      at_rows("decay_floor", "decay range", "decays above -1e-4 taken for 0",
              [](Stages& s) { s.g = (s.g.array() > -1e-4f).select(0.f, s.g); }),
      at_rows("tail_decays_zero", "decay range",
              "rows of the last, partial 16-row block read gate 0",
              [](Stages& s) {
                const auto begin = s.rows / kBlock * kBlock;
                s.g.middleRows(begin, s.rows - begin).setZero();
              }),
      at_rows("padding_decays", "tail chunk", "padding rows decay too",
              [](Stages& s) { s.g.bottomRows(s.g.rows() - s.rows).setConstant(-1); }),
      at_rows("padding_writes", "tail chunk", "padding rows write: k, v not zeroed",
              [](Stages& s) {
                for (Index i = s.rows; i < s.k.rows(); ++i)
                  s.k.row(i) = s.k.row(s.rows - 1), s.Z.row(i) = s.Z.row(s.rows - 1);
              }),
      at_rows("last_decay_lost", "tail chunk", "the last token of a short chunk does not decay",
              [](Stages& s) {
                if (s.rows < s.g.rows()) s.g.row(s.rows - 1).setZero();
              }),
      at_rows("state_transposed", "layout", "reads the state transposed, where it is square",
              [](Stages& s) {
                if (s.S.rows() == s.S.cols()) s.S = s.S.transpose().eval();
              }),
      at_rows("state_dropped", "state lifecycle", "the state does not pass from chunk to chunk",
              [](Stages& s) {
                if (s.t > 0) s.S.setZero();
              }),
      at_rows("entry_state_dropped", "state lifecycle", "the initial state is not read",
              [](Stages& s) {
                if (s.t == 0) s.S.setZero();
              }),
      at_rows("state_bf16", "precision", "the state is read through bf16",
              [](Stages& s) { round_to(Format::kBF16, s.S); }),
      at_rows("entry_state_bf16", "precision", "the initial state is read through bf16",
              [](Stages& s) {
                if (s.t == 0) round_to(Format::kBF16, s.S);
              }),
      at_rows("trailing_channels", "dimensions", "channels past a multiple of 16 dropped",
              [](Stages& s) {
                for (Index c = s.k.cols() / 16 * 16; c < s.k.cols(); ++c)
                  drop_column(s.q, c), drop_column(s.k, c), drop_column(s.e, c);
              }),
      at_rows("trailing_values", "dimensions", "value channels past a multiple of 16 dropped",
              [](Stages& s) {
                for (Index c = s.v.cols() / 16 * 16; c < s.v.cols(); ++c) drop_column(s.Z, c);
              }),
      at_rows("subnormal_keys", "dimensions", "elements of k below 1/256 flushed",
              [](Stages& s) { s.k = (s.k.array().abs() < 1.f / 256).select(0.f, s.k); }),
  };
}

}  // namespace gdr2::power
