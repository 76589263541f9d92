// SPDX-License-Identifier: Apache-2.0
// Every matrix that the chunk form makes x ways to spoil a matrix.
#include <fmt/format.h>

#include "properties/power/spoil.hpp"

namespace gdr2::power {
namespace {

using chunk::Site;

struct Way {
  const char* name;
  const char* kind;
  const char* what;
  bool squares;  ///< for [64, 64] matrices only
  std::function<void(M&, Index rows)> spoil;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> ways{
      {"zero", "gradient terms", "left out", false, [](M& x, Index) { x.setZero(); }},
      {"sign", "formula convention", "with the wrong sign", false, [](M& x, Index) { x = -x; }},
      {"gain", "precision", "1/128 too large", false, [](M& x, Index) { x *= 1 + 0x1p-7f; }},
      {"last_row", "tail chunk", "without the last token", false,
       [](M& x, Index rows) { drop_row(x, rows - 1); }},
      {"first_row", "tail chunk", "without the first token", false,
       [](M& x, Index) { drop_row(x, 0); }},
      {"last_block", "tail chunk", "without the last 16-row block", false,
       [](M& x, Index rows) { drop_last_block(x, rows); }},
      {"last_channel", "dimensions", "without the last channel", false,
       [](M& x, Index) { drop_column(x, x.cols() - 1); }},
      {"late", "formula convention", "a row late", false, [](M& x, Index) { shift_rows(x); }},
      {"bf16", "precision", "rounded to bf16", false,
       [](M& x, Index) { round_to(Format::kBF16, x); }},
      {"diagonal_blocks", "chunk inverse", "in its diagonal 16-blocks alone", true,
       [](M& x, Index) { keep_diagonal_blocks(x); }},
      {"transposed", "layout", "transposed", true, [](M& x, Index) { x = x.transpose().eval(); }},
  };
  return ways;
}

struct Stage {
  const char* name;
  Site site;
  M Stages::*matrix;
  bool square;
};

struct Value {
  const char* name;
  Site site;
  bool state = false;   ///< [K, V]: its rows are no tokens
  bool square = false;
};

bool fits(const Way& way, bool square, bool state) {
  if (way.squares) return square;
  if (square) return std::string_view(way.name) != "last_channel";
  return !state || std::string_view(way.kind) != "tail chunk";
}

Fault fault_of(const char* pass, const char* matrix, const Way& way) {
  return {.name = fmt::format("{}.{}.{}", pass, matrix, way.name),
          .kind = way.kind,
          .what = fmt::format("{} {}", matrix, way.what)};
}

}  // namespace

std::vector<Fault> generic_faults() {
  const std::vector<Stage> stages{
      {"Qg", Site::kDecays, &Stages::Qg, false},   {"Ebar", Site::kDecays, &Stages::Ebar, false},
      {"Kt", Site::kDecays, &Stages::Kt, false},   {"Z", Site::kRows, &Stages::Z, false},
      {"e", Site::kRows, &Stages::e, false},       {"T", Site::kScores, &Stages::T, true},
      {"Aqk", Site::kScores, &Stages::Aqk, true},  {"A", Site::kInverse, &Stages::A, true},
      {"R", Site::kResidual, &Stages::R, false}};
  const std::vector<Value> values{
      {"dR", Site::kdR},           {"P", Site::kP},
      {"dAqk", Site::kdAqk, false, true}, {"dT", Site::kdT, false, true},
      {"dQg", Site::kdQg},         {"dEbar", Site::kdEbar},
      {"dKt", Site::kdKt},         {"dS", Site::kdS, true},
      {"dS0", Site::kdS0, true},   {"de", Site::kde},
      {"dk_scores", Site::kdk},    {"dg_terms", Site::kdgTerms}};
  std::vector<Fault> all;
  for (const auto& stage : stages)
    for (const auto& way : ways()) {
      if (!fits(way, stage.square, false)) continue;
      auto fault = fault_of("forward", stage.name, way);
      fault.change = OnStages{stage.site, [=, spoil = way.spoil](Stages& s) {
                                spoil(s.*stage.matrix, s.rows);
                              }};
      all.push_back(std::move(fault));
    }
  for (const auto& value : values)
    for (const auto& way : ways()) {
      if (!fits(way, value.square, value.state)) continue;
      auto fault = fault_of("backward", value.name, way);
      fault.pass = Pass::kBackward;
      fault.change = OnChunk{value.site, [spoil = way.spoil](const Stages& s, const Seen&, M& x) {
                               spoil(x, s.rows);
                             }};
      all.push_back(std::move(fault));
    }
  return all;
}

}  // namespace gdr2::power
