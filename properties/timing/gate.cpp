// SPDX-License-Identifier: Apache-2.0
#include "properties/timing/gate.hpp"

#include <algorithm>
#include <array>

#include "properties/judge/check.hpp"
#include "properties/judge/guarded.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

constexpr std::int64_t kTokens = 100, kSequences = 3, kSequence = 50;
constexpr std::int64_t kFirst = 150;  // tokens: two chunks and a tail

/// A sequence and a key head with its value heads: a problem of its own, since heads do not meet.
struct Part {
  std::int64_t sequence, head;
};

std::array<Part, 2> first_and_last(const Problem& p) { return {{{0, 0}, {p.N() - 1, p.H - 1}}}; }

/// Tokens from `first` on and heads from `head` on of a tensor [B, T, heads, channels].
Tensor cut_tokens(const Tensor& from, const Shape& shape, std::int64_t first, std::int64_t head) {
  const auto heads = from.shape()[2], channels = from.shape()[3];
  Tensor to(from.dtype(), shape);
  std::int64_t i = 0;
  for (std::int64_t t = 0; t < shape[1]; ++t)
    for (std::int64_t h = 0; h < shape[2]; ++h)
      for (std::int64_t c = 0; c < channels; ++c)
        to.set(i++, from.get(((first + t) * heads + head + h) * channels + c));
  return to;
}

/// Consecutive elements of a state or of a parameter.
Tensor cut_block(const Tensor& from, const Shape& shape, std::int64_t begin) {
  Tensor to(from.dtype(), shape);
  for (std::int64_t i = 0; i < to.size(); ++i) to.set(i, from.get(begin + i));
  return to;
}

/// The problem of a part, its first `tokens`.
Problem problem_of(const Problem& full, std::int64_t tokens) {
  auto p = full;
  p.B = p.H = 1;
  p.HV = full.group();
  p.T = tokens;
  p.lens.clear();
  p.scale = full.scale_value();
  p.view = View::kDense;
  return p;
}

Tensor cut(const Problem& full, const Problem& part, Name name, const Tensor& from, Part at) {
  const auto shape = shape_of(part, name);
  const auto value_head = at.head * full.group();
  if (is_state(name))
    return cut_block(from, shape, (at.sequence * full.HV + value_head) * full.K * full.V);
  if (is_parameter(name)) return cut_block(from, shape, at.head * element_count(shape));
  return cut_tokens(from, shape, full.sequences()[at.sequence].begin,
                    is_value_side(name) ? value_head : at.head);
}

/// The verdict on `results` in the first `tokens` of a part.
Verdict judge_part(const Problem& full, const Problem& part, const Tensors& inputs,
                   const Contract& contract, const Tensors& results, Part at) {
  Tensors given, judged;
  for (auto name : input_names(part)) given[name] = cut(full, part, name, inputs.at(name), at);
  for (const auto& [name, result] : results)
    if (!is_parameter(name))  // their gradients sum over all sequences
      judged[name] = cut(full, part, name, result, at);
  auto verdict = judge_results(part, given, contract, judged);
  if (verdict.state != State::kPassed)
    verdict.reason =
        fmt::format("sequence {}, key head {}: {}", at.sequence, at.head, verdict.reason);
  return verdict;
}

/// What the kernel did instead of answering, as a verdict.
template <class Body>
Verdict or_fault(const Body& body) {
  try {
    return body();
  } catch (const KernelFault& fault) {
    return verdict_of(fault);
  } catch (const std::exception& error) {
    return {State::kCrashed, "", error.what(), {}};
  }
}

}  // namespace

Case cut_short(const Case& c) {
  auto short_case = c;
  auto& p = short_case.problem;
  p.B = 1;
  p.T = std::min(p.T, kTokens);
  if (p.lens.empty()) return short_case;
  p.lens.resize(std::min(std::int64_t(p.lens.size()), kSequences));
  p.T = 0;
  for (auto& length : p.lens) p.T += length = std::min(length, kSequence);
  return short_case;
}

Verdict check_short(const Kernel& kernel, const Case& c) {
  return or_fault([&]() -> Verdict {
    const auto& p = c.problem;
    if (const auto reason = kernel.unsupported(p)) return {State::kSkipped, "", *reason, {}};
    const auto inputs = make_inputs(c);
    const auto run = run_guarded(kernel, p, inputs, {});
    if (run.fault) return {State::kFailed, "exact", *run.fault, {}};
    for (const auto at : first_and_last(p)) {
      const auto part = problem_of(p, p.sequences()[at.sequence].length());
      if (part.T == 0) continue;
      auto verdict = judge_part(p, part, inputs, kernel.contract(p), run.results, at);
      if (verdict.state != State::kPassed) return verdict;
    }
    return {};
  });
}

Verdict check_first_tokens(const Kernel& kernel, const Problem& full, const Tensors& inputs) {
  return or_fault([&]() -> Verdict {
    auto forward = full;
    forward.backward = forward.ht = false;
    auto outputs = allocated(forward, {Name::o}, std::byte{0xFF});
    Tensors given;
    for (auto name : input_names(forward)) given[name] = inputs.at(name);
    kernel.forward(forward, given, outputs);
    for (const auto at : first_and_last(full)) {
      const auto length = full.sequences()[at.sequence].length();
      const auto part = problem_of(forward, std::min(length, kFirst));
      if (part.T == 0) continue;
      auto verdict = judge_part(forward, part, given, kernel.contract(forward), outputs, at);
      if (verdict.state == State::kPassed) continue;
      verdict.reason = "at full size, " + verdict.reason;
      return verdict;
    }
    return {};
  });
}

}  // namespace gdr2
