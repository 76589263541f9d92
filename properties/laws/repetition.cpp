// SPDX-License-Identifier: Apache-2.0
// X7: the same call gives the same bits. X8: tokens that do nothing change nothing.
#include "properties/laws/family.hpp"

namespace gdr2::laws {
namespace {

Verdict repeatable(const Kernel& kernel, const Case& c) {
  return judge_in_place(kernel, c, [&](const PlacedCall& call) -> Violation {
    const auto want = run(kernel, call);
    for (int i = 0; i < 30; ++i)
      if (auto found = difference(call.problem, run(kernel, call), want))
        return fmt::format("call {}: {}", i + 2, *found);
    return std::nullopt;
  });
}

Verdict neutral_tokens(const Kernel& kernel, const Case& c) {
  if (!c.problem.lens.empty()) return skipped("packed");
  if (c.problem.gate != Gate::kLog) return skipped("the gate in the kernel has no zero");
  return judge_in_place(kernel, c, [&](PlacedCall call) -> Violation {
    call.problem.backward = false;
    call.problem.ht = true;
    const auto want = run(kernel, call);
    constexpr std::int64_t kMore = 70;  // to the end of the chunk and past it
    auto longer = call;
    longer.problem.T += kMore;
    for (auto name : {Name::q, Name::k, Name::v, Name::g, Name::b, Name::w}) {
      const auto to = longer.inputs[name] = make_array(kernel, longer.problem, name);
      assign(to.part(1, 0, call.problem.T), call.inputs.at(name));
      fill(to.part(1, call.problem.T, kMore), name == Name::k || name == Name::g ? 0 : 0.5);
    }
    return difference(call.problem, Name::ht, run(kernel, longer).at(Name::ht), want.at(Name::ht));
  });
}

}  // namespace

std::vector<Law> repetition_laws() {
  return {
      {"repeatable", "30 calls give the same bits (X7)", repeatable},
      {"neutral_tokens", "tokens with k = 0, g = 0 at the end leave the state (X8)",
       neutral_tokens},
  };
}

}  // namespace gdr2::laws
