// SPDX-License-Identifier: Apache-2.0
#include "properties/timing/gate.hpp"

#include <algorithm>

#include "properties/judge/check.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

constexpr std::int64_t kRows = 2, kHeads = 2, kTokens = 150, kSequences = 3, kSequence = 70;
constexpr std::int64_t kFirst = 150;  // tokens: two chunks and a tail

/// Tokens of one sequence and one head of [B, T, heads, channels], dense.
Tensor cut_tokens(const Tensor& from, std::int64_t first, std::int64_t tokens, std::int64_t head) {
  const auto heads = from.shape()[2], channels = from.shape()[3];
  Tensor to(from.dtype(), {1, tokens, 1, channels});
  for (std::int64_t t = 0; t < tokens; ++t) {
    const auto row = (first + t) * heads + head;  // of [B T, heads]
    for (std::int64_t c = 0; c < channels; ++c) to.set(t * channels + c, from.get(row * channels + c));
  }
  return to;
}

/// One sequence and head of a state or of a parameter of the key heads.
Tensor cut_block(const Tensor& from, Shape shape, std::int64_t index) {
  Tensor to(from.dtype(), shape);
  const auto size = to.size();
  for (std::int64_t i = 0; i < size; ++i) to.set(i, from.get(index * size + i));
  return to;
}

struct Part {
  std::int64_t sequence, head;  ///< value head
};

Problem problem_of(const Problem& full, std::int64_t tokens) {
  auto p = full;
  p.B = p.H = p.HV = 1;
  p.T = tokens;
  p.lens.clear();
  p.scale = full.scale_value();
  p.backward = p.ht = false;
  p.view = View::kDense;
  return p;
}

Tensors cut_inputs(const Problem& full, const Problem& part, const Tensors& inputs, Part at) {
  const auto first = full.sequences()[at.sequence].begin;
  const auto key_head = at.head / full.group();
  Tensors cut;
  for (auto name : input_names(part)) {
    const auto& from = inputs.at(name);
    const bool value_side = name == Name::v || name == Name::w;
    if (name == Name::h0)
      cut[name] = cut_block(from, shape_of(part, name), at.sequence * full.HV + at.head);
    else if (name == Name::A_log || name == Name::dt_bias)
      cut[name] = cut_block(from, shape_of(part, name), key_head);
    else
      cut[name] = cut_tokens(from, first, part.T, value_side ? at.head : key_head);
  }
  return cut;
}

}  // namespace

Case cut_short(const Case& c) {
  auto cut = c;
  auto& p = cut.problem;
  const auto group = p.group();
  p.B = std::min(p.B, kRows);
  p.H = std::min(p.H, kHeads);
  p.HV = p.H * group;
  p.T = std::min(p.T, kTokens);
  if (p.lens.empty()) return cut;
  p.lens.resize(std::min(std::int64_t(p.lens.size()), kSequences));
  p.T = 0;
  for (auto& length : p.lens) p.T += length = std::min(length, kSequence);
  return cut;
}

Verdict check_first_tokens(const Kernel& kernel, const Problem& full, const Tensors& inputs) {
  auto forward = full;
  forward.backward = false;
  Tensors outputs, given;
  for (auto name : output_names(forward)) {
    outputs[name] = Tensor(dtype_of(forward, name), shape_of(forward, name));
    outputs[name].fill_storage(std::byte{0xFF});
  }
  for (auto name : input_names(forward)) given[name] = inputs.at(name);
  try {
    kernel.forward(forward, given, outputs);
  } catch (const KernelFault& fault) {
    return verdict_of(fault);
  } catch (const std::exception& error) {
    return {State::kCrashed, "", error.what(), {}};
  }
  for (const Part at : {Part{0, 0}, Part{full.N() - 1, full.HV - 1}}) {
    const auto sequence = full.sequences()[at.sequence];
    const auto part = problem_of(forward, std::min(sequence.length(), kFirst));
    if (part.T == 0) continue;
    const auto cut = cut_inputs(full, part, given, at);
    const Tensors o{{Name::o, cut_tokens(outputs.at(Name::o), sequence.begin, part.T, at.head)}};
    auto verdict = judge_results(part, cut, kernel.contract(forward), o);
    if (verdict.state == State::kPassed) continue;
    verdict.reason = fmt::format("at full size, sequence {} head {}: {}", at.sequence, at.head, verdict.reason);
    return verdict;
  }
  return {};
}

}  // namespace gdr2
