// SPDX-License-Identifier: Apache-2.0
#include "reports/features.hpp"

#include <algorithm>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

using P = const Problem&;

std::int64_t shortest(P p) {
  std::int64_t length = p.T;
  for (const auto& sequence : p.sequences()) length = std::min(length, sequence.length());
  return length;
}

}  // namespace

const std::vector<Feature>& features() {
  // clang-format off
  static const std::vector<Feature> table{
      {"dtype", "fp64", [](P p) { return p.dtype == Format::kF64; }},
      {"dtype", "fp32", [](P p) { return p.dtype == Format::kF32; }},
      {"dtype", "tf32", [](P p) { return p.dtype == Format::kTF32; }},
      {"dtype", "bf16", [](P p) { return p.dtype == Format::kBF16; }},
      {"dtype", "fp16", [](P p) { return p.dtype == Format::kF16; }},
      {"pass", "forward only", [](P p) { return !p.backward; }},
      {"pass", "forward and backward", [](P p) { return p.backward; }},
      {"loss", "of o alone", [](P p) { return p.backward && p.loss == Loss::kO; }},
      {"loss", "of ht alone", [](P p) { return p.backward && p.loss == Loss::kHt; }},
      {"loss", "of both", [](P p) { return p.backward && p.loss == Loss::kBoth; }},
      {"state", "initial state", [](P p) { return p.h0; }},
      {"state", "no final state", [](P p) { return !p.ht; }},
      {"state", "layout [V, K]", [](P p) { return p.layout == StateLayout::kVK; }},
      {"gate", "log decay", [](P p) { return p.gate == Gate::kLog; }},
      {"gate", "softplus", [](P p) { return p.gate == Gate::kSoftplus; }},
      {"gate", "lower bound", [](P p) { return p.gate == Gate::kLowerBound; }},
      {"option", "L2 norm in the kernel", [](P p) { return p.l2norm; }},
      {"option", "negative eigenvalues", [](P p) { return p.neg_eigval; }},
      {"option", "scale given", [](P p) { return p.scale.has_value(); }},
      {"option", "g in 16 bits", [](P p) { return p.g_dtype == DType::kBF16 || p.g_dtype == DType::kF16; }},
      {"memory", "padded rows", [](P p) { return p.view == View::kPadded; }},
      {"memory", "q k v in one buffer", [](P p) { return p.view == View::kFused; }},
      {"sizes", "batch", [](P p) { return p.lens.empty() && p.B > 1; }},
      {"sizes", "packed sequences", [](P p) { return !p.lens.empty(); }},
      {"sizes", "empty sequences", [](P p) { return !p.lens.empty() && shortest(p) == 0; }},
      {"sizes", "heads", [](P p) { return p.H > 1; }},
      {"sizes", "grouped value heads", [](P p) { return p.HV > p.H; }},
      {"sizes", "K other than V", [](P p) { return p.K != p.V; }},
      {"sizes", "K or V not a multiple of 16", [](P p) { return p.K % 16 != 0 || p.V % 16 != 0; }},
      {"sizes", "K or V above 128", [](P p) { return p.K > 128 || p.V > 128; }},
      {"sizes", "a single token", [](P p) { return shortest(p) == 1; }},
      {"sizes", "a partial last chunk", [](P p) { return p.T % kChunk != 0; }},
      {"sizes", "1000 tokens and more", [](P p) { return p.T >= 1000; }},
  };
  // clang-format on
  return table;
}

std::vector<int> features_of(const std::string& line) try {
  auto keys = split_keys(line);
  if (keys.contains("file")) return {};
  keys.erase("recipe"), keys.erase("seed");
  const auto problem = take_problem(keys);
  std::vector<int> used;
  for (std::size_t i = 0; i < features().size(); ++i)
    if (features()[i].used_by(problem)) used.push_back(int(i));
  return used;
} catch (const Error&) {
  return {};  // a line that this binary does not know, of a report of another version
}

}  // namespace gdr2
