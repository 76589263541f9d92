// SPDX-License-Identifier: Apache-2.0
// X4: an order of heads or value channels is only an order. X6: shared heads are repeated ones.
#include <cmath>

#include "properties/laws/family.hpp"
#include "properties/laws/margin.hpp"

namespace gdr2::laws {
namespace {

/// Heads rotated by one key head and its group.
Arrays rotated(const Problem& p, const Arrays& arrays) {
  Arrays out;
  for (const auto& [name, array] : arrays) {
    const std::size_t axis = is_parameter(name) ? 0 : is_state(name) ? 1 : 2;
    const auto heads = array.shape()[axis];
    const auto shift = is_key_side(name) || is_parameter(name) ? 1 : p.group(),
               rest = heads - shift;
    auto& to = out[name] = Array(array.space(), array.dtype(), array.shape());
    assign(to.part(axis, 0, rest), array.part(axis, shift, rest));
    assign(to.part(axis, rest, shift), array.part(axis, 0, shift));
  }
  return out;
}

Verdict head_permutation(const Kernel& kernel, const Case& c) {
  if (c.problem.H == 1) return skipped("one head");
  return judge_in_place(kernel, c, [&](const PlacedCall& call) {
    return difference(call.problem, run(kernel, {call.problem, rotated(call.problem, call.inputs)}),
                      rotated(call.problem, run(kernel, call)));
  });
}

/// Every value head with its own copy of q, k, b, g and the gate's parameters.
Call repeated_heads(const Call& call) {
  auto repeated = call;
  repeated.problem.H = call.problem.HV;
  const auto group = call.problem.group();
  for (auto& [name, tensor] : repeated.inputs) {
    if (!is_key_side(name) && !is_parameter(name)) continue;
    Tensor wide(tensor.dtype(), shape_of(repeated.problem, name));
    const auto inner = name == Name::A_log ? 1 : call.problem.K;
    const auto& from = call.inputs.at(name);
    for (std::int64_t i = 0; i < wide.size(); ++i)
      wide.set(i, from.get(i / inner / group * inner + i % inner));
    tensor = wide;
  }
  return repeated;
}

PlacedCall repeated_heads(const Kernel& kernel, const PlacedCall& call) {
  auto repeated = call;
  repeated.problem.H = call.problem.HV;
  for (auto& [name, array] : repeated.inputs) {
    if (!is_key_side(name) && !is_parameter(name)) continue;
    const auto from = array;
    const std::size_t axis = is_parameter(name) ? 0 : 2;
    array = make_array(kernel, repeated.problem, name);
    for (std::int64_t i = 0; i < call.problem.group(); ++i)
      assign(every(array, axis, i, call.problem.group()), from);
  }
  return repeated;
}

Verdict shared_heads_repeated(const Kernel& kernel, const Case& c) {
  if (c.problem.group() == 1) return skipped("no shared heads");
  return judge_in_place(kernel, c, [&](PlacedCall call) {
    call.problem.backward = false;
    return difference(call.problem, run(kernel, repeated_heads(kernel, call)), run(kernel, call));
  });
}

/// Values of a call with repeated heads, added up over what shares a head in `p`.
std::vector<double> added_up(const Problem& p, Name name, std::vector<double> values) {
  if (!is_parameter(name) && !is_key_side(name)) return values;
  const auto inner = name == Name::dA_log ? 1 : p.K;
  std::vector<double> sums(values.size() / p.group());
  for (std::size_t i = 0; i < values.size(); ++i)
    sums[i / inner / p.group() * inner + i % inner] += values[i];
  return sums;
}

/// The deviation of sums of independent terms.
Values<double> added_up_in_squares(const Problem& p, Values<double> sigma) {
  for (auto& [name, values] : sigma) {
    for (auto& s : values) s *= s;
    values = added_up(p, name, values);
    for (auto& s : values) s = std::sqrt(s);
  }
  return sigma;
}

Verdict shared_heads_gradients(const Kernel& kernel, const Case& c) {
  if (c.problem.group() == 1) return skipped("no shared heads");
  if (!c.problem.backward) return skipped("forward only");
  return judge(c, [&](const Call& call) {
    const auto repeated = repeated_heads(call);
    Values<double> summed;
    for (const auto& [name, tensor] : run(kernel, repeated))
      summed[name] = added_up(call.problem, name, tensor.to_doubles());
    const auto of_sums = [&, terms = Margin(kernel, repeated)](Look look) {
      return added_up_in_squares(call.problem, terms.sigma(look));
    };
    return Margin(kernel, call).with(of_sums).beyond(run(kernel, call), summed);
  });
}

/// Value channels in reverse order, in whatever layout.
Tensors reversed_values(const Problem& p, const Tensors& tensors) {
  Tensors out = tensors;
  for (auto& [name, tensor] : out) {
    if (is_key_side(name) || is_parameter(name)) continue;
    const bool rows = is_state(name) && p.layout == StateLayout::kVK;
    const auto copy = tensor.clone();
    tensor = tensor.clone();
    const auto inner = rows ? p.K : 1;
    for (std::int64_t i = 0; i < copy.size(); ++i) {
      const auto v = i / inner % p.V;
      tensor.set(i, copy.get(i + (p.V - 1 - 2 * v) * inner));
    }
  }
  return out;
}

Verdict value_permutation(const Kernel& kernel, const Case& c) {
  return judge(c, [&](const Call& call) {
    const auto got = run(kernel, {call.problem, reversed_values(call.problem, call.inputs)});
    auto margin = Margin(kernel, call);
    return margin.with(margin).beyond(reversed_values(call.problem, got), run(kernel, call));
  });
}

}  // namespace

std::vector<Law> head_laws() {
  constexpr auto kMargin = Law::Kind::kMargin;
  return {
      {"head_permutation", "heads permuted: results permuted (X4)", head_permutation},
      {"value_permutation", "value channels reversed: results reversed, but for rounding (X4)",
       value_permutation, kMargin},
      {"shared_heads_repeated", "shared query/key heads = repeated ones (X6)",
       shared_heads_repeated},
      {"shared_heads_gradients",
       "gradients of shared heads = sums over repeated ones, but for rounding (X6)",
       shared_heads_gradients, kMargin},
  };
}

}  // namespace gdr2::laws
