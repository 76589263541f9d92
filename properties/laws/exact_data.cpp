// SPDX-License-Identifier: Apache-2.0
// Data on which no operation rounds: with one-hot keys, b and w in {0, 1} and g in {0, -inf} the memory
// is a table that is looked up, and with small integers in it every sum is exact in every format. The
// answer must be the same bits as the reference's; also with a power of two on every channel.
#include <algorithm>
#include <cmath>

#include "fixtures/draw_inputs.hpp"
#include "properties/laws/family.hpp"
#include "properties/laws/margin.hpp"

namespace gdr2::laws {
namespace {

/// The case's sizes and sequences with exact data, and no option that computes.
Call table(const Case& c) {
  auto p = c.problem;
  p.gate = Gate::kLog;
  p.l2norm = p.neg_eigval = false;
  p.scale = 1;
  p.view = View::kDense;
  p.g_dtype = p.state_dtype();
  return {p, draw_inputs(p, find_recipe("onehot"), c.seed)};
}

/// k_c 2^n, b_c 4^-n, q_c 2^m, v 2^l: all stays a table.
Call with_powers_of_two(const Call& call) {
  auto out = call;
  for (auto& [name, tensor] : out.inputs)
    tensor = changed(tensor, [&, name = name](const Index& i, double x) {
      const int n = int(i[3] % 3) - 1;
      switch (name) {
        case Name::k: return std::ldexp(x, n);
        case Name::b: return std::ldexp(x, -2 * n);
        case Name::q: return std::ldexp(x, int(i[3] % 4) - 2);
        case Name::v: return std::ldexp(x, 1 - int(i[3] % 4));
        default: return x;
      }
    });
  return out;
}

/// Where the contract leaves room all the same (sums past 2^8 in bf16) that room is given. Gradients of heads
/// that a group shares are left out: a kernel may sum a group's products before they become operands, and the
/// sum has more bits than each.
Violation inexact(const Kernel& kernel, const Call& call) {
  const Margin margin(kernel, call);
  const auto shared = {Name::dq, Name::dk, Name::dg, Name::db};
  for (const auto& [name, tensor] : run(kernel, call)) {
    if (call.problem.group() > 1 && std::ranges::find(shared, name) != shared.end()) continue;
    if (auto found = margin.beyond(name, tensor.to_doubles(), margin.truth(name))) return found;
  }
  return std::nullopt;
}

Verdict look_up(const Kernel& kernel, const Case& c) {
  return judge(c, [&](const Call&) { return inexact(kernel, table(c)); });
}

Verdict powers_of_two(const Kernel& kernel, const Case& c) {
  return judge(c, [&](const Call&) { return inexact(kernel, with_powers_of_two(table(c))); });
}

}  // namespace

std::vector<Law> exact_data_laws() {
  return {
      {"look_up", "one-hot keys, b and w in {0, 1}, small integers: a table is looked up, exactly",
       look_up, Law::Kind::kMargin},
      {"powers_of_two", "the same with a power of two on every channel, exactly", powers_of_two,
       Law::Kind::kMargin},
  };
}

}  // namespace gdr2::laws
