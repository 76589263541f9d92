// SPDX-License-Identifier: Apache-2.0
// X2: what comes later does not matter, and gets no gradient.
#include "properties/laws/family.hpp"

#include <cmath>

namespace gdr2::laws {
namespace {

/// The token up to which a sequence is left alone: not at a block's edge where it can be helped.
std::int64_t kept(Sequence s) {
  return s.begin + (s.length() > 8 ? s.length() / 2 + 5 : s.length() / 2);
}

/// True for tokens of [B, T, ...] tensors that come after what `kept` keeps.
std::vector<bool> later_tokens(const Problem& p) {
  std::vector<bool> later(p.B * p.T);
  for (auto s : p.sequences())
    for (auto t = std::min(kept(s), s.end); t < s.end; ++t) later[t] = true;
  return later;
}

Verdict causality(const Kernel& kernel, const Case& c) {
  return judge(c, [&](Call call) -> Violation {
    const auto& p = call.problem;
    call.problem.backward = false;
    const auto later = later_tokens(p);
    const auto want = run(kernel, call);
    for (auto name : {Name::q, Name::k, Name::v, Name::g, Name::b, Name::w})
      call.inputs[name] = changed(call.inputs[name], [&](const Index& i, double x) {
        if (!later[i[0] * p.T + i[1]]) return x;
        if (name != Name::g) return 0.5 * x + 0.25;
        return p.gate == Gate::kLog ? (i[3] % 4 ? 3 * x - 0.5 : -HUGE_VAL) : x + 1;
      });
    const auto got = run(kernel, call);
    const auto early = changed(want.at(Name::o), [&](const Index& i, double x) {
      return later[i[0] * p.T + i[1]] ? NAN : x;
    });
    const auto early_got = changed(got.at(Name::o), [&](const Index& i, double x) {
      return later[i[0] * p.T + i[1]] ? NAN : x;
    });
    return difference(p, Name::o, early_got, early);
  });
}

Verdict no_gradient_from_later(const Kernel& kernel, const Case& c) {
  if (!c.problem.backward || !c.problem.has_do()) return skipped("no loss on o");
  return judge(c, [&](Call call) -> Violation {
    const auto& p = call.problem;
    const auto later = later_tokens(p);
    call.problem.loss = Loss::kO;
    call.inputs.erase(Name::dht);
    call.inputs[Name::do_] = changed(call.inputs[Name::do_], [&](const Index& i, double x) {
      return later[i[0] * p.T + i[1]] ? 0 : x;
    });
    const auto got = run(kernel, call);
    for (auto name : {Name::dq, Name::dk, Name::dv, Name::dg, Name::db, Name::dw}) {
      const auto want = changed(
          got.at(name), [&](const Index& i, double x) { return later[i[0] * p.T + i[1]] ? 0 : x; });
      if (auto found = difference(p, name, got.at(name), want)) return found;
    }
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
