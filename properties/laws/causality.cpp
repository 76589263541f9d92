// SPDX-License-Identifier: Apache-2.0
// X2: what comes later does not matter, and gets no gradient.
#include "properties/laws/family.hpp"

#include <cmath>

namespace gdr2::laws {
namespace {

/// How many tokens of a sequence are left alone: not up to a block's edge where it can be helped.
std::int64_t kept(std::int64_t length) { return length > 8 ? length / 2 + 5 : length / 2; }

/// The later tokens of every sequence, in an array [B, T, ...].
std::vector<Array> later_tokens(const Problem& p, const Array& array) {
  std::vector<Array> later;
  const auto sequences = p.sequences();
  for (std::int64_t n = 0; n < p.N(); ++n) {
    const auto length = sequences[n].length(), begin = kept(length);
    later.push_back(tokens(p, array, n, begin, length - begin));
  }
  return later;
}

/// A copy with later tokens changed.
template <class Change>
Array with_later(const Problem& p, const Array& array, const Change& change) {
  auto changed = copy(array);
  for (const auto& later : later_tokens(p, changed)) change(later);
  return changed;
}

Array with_later_filled(const Problem& p, const Array& array, double value) {
  return with_later(p, array, [=](const Array& later) { fill(later, value); });
}

Verdict causality(const Kernel& kernel, const Case& c) {
  return judge_in_place(kernel, c, [&](PlacedCall call) -> Violation {
    const auto& p = call.problem;
    call.problem.backward = false;
    const auto want = run(kernel, call);
    for (auto name : {Name::q, Name::k, Name::v, Name::g, Name::b, Name::w})
      call.inputs[name] = with_later(p, call.inputs[name], [&](const Array& later) {
        if (name != Name::g) return assign(later, later, 0.5, 0.25);
        if (p.gate != Gate::kLog) return assign(later, later, 1, 1);
        assign(later, later, 3, -0.5);
        fill(every(later, 3, 0, 4), -HUGE_VAL);
      });
    const auto got = run(kernel, call);
    return difference(p, Name::o, with_later_filled(p, got.at(Name::o), NAN),
                      with_later_filled(p, want.at(Name::o), NAN));
  });
}

Verdict no_gradient_from_later(const Kernel& kernel, const Case& c) {
  if (!c.problem.backward || !c.problem.has_do()) return skipped("no loss on o");
  return judge_in_place(kernel, c, [&](PlacedCall call) -> Violation {
    const auto& p = call.problem;
    call.problem.loss = Loss::kO;
    call.inputs.erase(Name::dht);
    call.inputs[Name::do_] = with_later_filled(p, call.inputs[Name::do_], 0);
    const auto got = run(kernel, call);
    for (auto name : {Name::dq, Name::dk, Name::dv, Name::dg, Name::db, Name::dw})
      if (auto found = difference(p, name, got.at(name), with_later_filled(p, got.at(name), 0)))
        return found;
    return std::nullopt;
  });
}

}  // namespace

std::vector<Law> causality_laws() {
  return {
      {"causality", "editing later tokens leaves o of earlier ones (X2)", causality},
      {"no_gradient_from_later", "a loss on early tokens has no gradient at later ones (X2)",
       no_gradient_from_later},
  };
}

}  // namespace gdr2::laws
