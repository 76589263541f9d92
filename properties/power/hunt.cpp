// SPDX-License-Identifier: Apache-2.0
#include "properties/power/hunt.hpp"

#include <cstring>

#include "properties/judge/check.hpp"
#include "properties/laws/law.hpp"
#include "properties/laws/law_run.hpp"
#include "properties/power/envelope_memo.hpp"
#include "properties/power/public_rules.hpp"

namespace gdr2::power {
namespace {

bool same_bits(const Tensors& a, const Tensors& b) {
  for (const auto& [name, x] : a) {
    const auto& y = b.at(name);
    const auto width = size_of(x.dtype());
    for (std::int64_t i = 0; i < x.size(); ++i)
      if (std::memcmp(x.data() + i * std::int64_t(width), y.data() + i * std::int64_t(width), width)) return false;
  }
  return true;
}

/// Copies, so that a kernel that writes its inputs spoils no other's.
laws::Call fresh_call(const Case& c) { return {c.problem, make_inputs(c)}; }

std::optional<Tensors> results_of(const Kernel& kernel, const Case& c) {
  try {
    return laws::run(kernel, fresh_call(c));
  } catch (const std::exception&) {
    return std::nullopt;  // the judge will say so
  }
}

void hunt_one(const Case& c, EnvelopeMemo& memo, const Tensors* right, Prey& prey) {
  const auto results = results_of(*prey.kernel, c);
  const bool differs = !results || !right || !same_bits(*results, *right);
  prey.differing += differs;
  if (!differs && !prey.beyond_values) return;
  ++prey.judged;
  auto verdict = check(*prey.kernel, c, {.envelope = memo.source()});
  if (results && verdict.state != State::kSkipped) {
    const auto contract = prey.kernel->contract(c.problem);
    try {
      const auto& envelope = memo.get(c.problem, make_inputs(c), contract);
      for (auto& rule : rejecting_rules(*results, envelope.reference)) prey.rules.insert(rule);
    } catch (const EnvelopeOverflow&) {
    }
  }
  if (verdict.state != State::kFailed && verdict.state != State::kCrashed) return;
  prey.line = to_string(c);
  prey.caught = std::move(verdict);
}

}  // namespace

void hunt(const Case& c, std::vector<Prey>& prey) {
  EnvelopeMemo memo;
  std::map<const Kernel*, std::optional<Tensors>> right;
  for (auto& one : prey) {
    if (one.caught || one.kernel->unsupported(c.problem)) continue;
    if (one.right && !right.contains(one.right)) right[one.right] = results_of(*one.right, c);
    const auto* bits = one.right && right[one.right] ? &*right[one.right] : nullptr;
    hunt_one(c, memo, bits, one);
  }
}

std::optional<LawBroken> law_broken(const Kernel& kernel) {
  static const std::vector<Case> cases{
      parse_case("lens=0,5,19,1 H=2 HV=4 K=16 V=16 h0=1 loss=o view=fused"),
      parse_case("B=2 T=70 K=20 V=16 h0=1 gate=softplus recipe=slow")};
  for (const auto& c : cases)
    for (const auto& law : all_laws()) {
      if (law.kind == Law::Kind::kMargin) continue;  // what the judge sees too
      const auto verdict = law.check(kernel, c);
      if (verdict.state == State::kFailed || verdict.state == State::kCrashed)
        return LawBroken{law.name, to_string(c), verdict.reason};
    }
  return std::nullopt;
}

}  // namespace gdr2::power
