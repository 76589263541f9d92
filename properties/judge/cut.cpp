// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/cut.hpp"

#include <cmath>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

Problem cut_problem(const Problem& whole, const std::vector<Chunk>& chunks) {
  Problem p = whole;
  p.B = 1, p.T = 0;
  p.lens.clear();
  for (const auto& chunk : chunks) {
    p.lens.push_back(chunk.tokens.length());
    p.T += chunk.tokens.length();
  }
  p.h0 = p.ht = true;
  p.layout = StateLayout::kKV;
  p.view = View::kDense;
  if (p.loss == Loss::kO) p.loss = Loss::kBoth;
  return p;
}

/// The chosen chunks' rows of a [B, T, heads, channels] tensor.
std::vector<double> token_rows(const Tensor& tensor, const std::vector<Chunk>& chunks) {
  const auto row = tensor.shape()[2] * tensor.shape()[3];
  std::vector<double> x;
  for (const auto& chunk : chunks)
    for (auto i = chunk.tokens.begin * row; i < chunk.tokens.end * row; ++i)
      x.push_back(tensor.get(i));
  return x;
}

/// The chosen blocks of a [chunks, heads, rows, columns] stage.
std::vector<double> stage_blocks(const Tensor& stage, const std::vector<std::int64_t>& chosen) {
  const auto block = stage.size() / std::max<std::int64_t>(1, stage.shape()[0]);
  std::vector<double> x;
  for (auto c : chosen)
    for (auto i = c * block; i < (c + 1) * block; ++i) x.push_back(stage.get(i));
  return x;
}

/// State n of an [N, HV, ., .] tensor in either layout as [HV, K, V].
std::vector<double> state_of(const Problem& p, const Tensor& states, std::int64_t n) {
  const auto size = p.HV * p.K * p.V;
  std::vector<double> x(size);
  for (std::int64_t i = 0; i < size; ++i) {
    const auto head = i / (p.K * p.V), k = i / p.V % p.K, v = i % p.V;
    const auto at = p.layout == StateLayout::kKV ? i : head * p.K * p.V + v * p.K + k;
    x[i] = states.get(n * size + at);
  }
  return x;
}

/// The state that a chunk hands on: its neighbour's, or at the end of the sequence the result `last`.
std::vector<double> neighbours(const Problem& p, const Tensors& results, Name stage, Name last,
                               int step, const std::vector<std::int64_t>& chosen) {
  const auto all = chunks_of(p);
  std::vector<double> x;
  for (auto c : chosen) {
    const auto next = c + step;
    const bool inside = next >= 0 && next < std::ssize(all) && all[next].sequence == all[c].sequence;
    const auto state = inside                    ? stage_blocks(results.at(stage), {next})
                       : results.contains(last) ? state_of(p, results.at(last), all[c].sequence)
                                                : std::vector<double>(p.HV * p.K * p.V, kUnknown);
    x.insert(x.end(), state.begin(), state.end());
  }
  return x;
}

}  // namespace

bool can_cut(const Problem& problem, const Tensors& results) {
  return results.contains(Name::H) && (!problem.backward || results.contains(Name::dH));
}

Cut cut(const Problem& whole, const Tensors& inputs, const Tensors& results,
        const std::vector<std::int64_t>& chosen) {
  Cut cut;
  const auto all = chunks_of(whole);
  for (auto c : chosen) cut.chunks.push_back(all[c]);
  cut.problem = cut_problem(whole, cut.chunks);
  for (auto name : input_names(cut.problem)) {
    const auto shape = shape_of(cut.problem, name);
    const auto& from = name == Name::h0 ? results.at(Name::H)
                       : name == Name::dht ? results.at(Name::dH) : inputs.at(name);
    Tensor tensor(dtype_of(cut.problem, name), shape);
    tensor.assign(is_state(name)       ? stage_blocks(from, chosen)
                  : shape.size() == 4 ? token_rows(from, cut.chunks)
                                      : from.to_doubles());
    cut.inputs[name] = tensor;
  }
  for (const auto& [name, tensor] : results)
    if (name == Name::H || name == Name::dH) continue;  // given, not judged
    else if (is_stage(name)) cut.results[name] = stage_blocks(tensor, chosen);
    else if (!is_state(name) && tensor.shape().size() == 4)
      cut.results[name] = token_rows(tensor, cut.chunks);
  cut.results[Name::ht] = neighbours(whole, results, Name::H, Name::ht, +1, chosen);
  if (whole.backward)
    cut.results[Name::dh0] = neighbours(whole, results, Name::dH, Name::dh0, -1, chosen);
  return cut;
}

std::string name_in_whole(const Cut& cut, Name name, std::int64_t index) {
  const auto place = Places(cut.problem, name)[index];
  const auto& chunk = cut.chunks[place.sequence];
  const char* row = is_state(name) || name == Name::H || name == Name::dH ? "key channel" : "row";
  return fmt::format("sequence {} head {} chunk {} {} {} channel {}", chunk.sequence, place.head,
                     chunk.index, row, place.row, place.channel);
}

}  // namespace gdr2
