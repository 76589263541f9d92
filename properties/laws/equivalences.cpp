// SPDX-License-Identifier: Apache-2.0
// X5: options that say the same as other inputs do.
#include <cmath>

#include "properties/laws/family.hpp"
#include "properties/laws/margin.hpp"
#include "reference/options.hpp"

namespace gdr2::laws {
namespace {

Verdict none_is_zeros(const Kernel& kernel, const Case& c) {
  return judge_in_place(kernel, c, [&](PlacedCall call) -> Violation {
    call.problem.h0 = false;
    call.inputs.erase(Name::h0);
    if (call.problem.backward && call.problem.has_dht() && call.problem.has_do()) {
      call.problem.loss = Loss::kO;
      call.inputs.erase(Name::dht);
    }
    auto given = call;
    given.problem.h0 = true;
    given.inputs[Name::h0] = make_array(kernel, call.problem, Name::h0);
    fill(given.inputs[Name::h0], 0);
    if (call.problem.loss == Loss::kO && call.problem.backward) {
      given.problem.loss = Loss::kBoth;
      given.inputs[Name::dht] = given.inputs[Name::h0];
    }
    return difference(call.problem, run(kernel, call), run(kernel, given));
  });
}

Verdict unasked_final_state(const Kernel& kernel, const Case& c) {
  return judge_in_place(kernel, c, [&](PlacedCall call) {
    call.problem.ht = true;
    const auto want = run(kernel, call);
    call.problem.ht = false;
    return difference(call.problem, run(kernel, call), want);
  });
}

/// A view of the same values with NaN before and after each row.
Array padded(const Array& array) {
  constexpr std::int64_t kGap = 8;  // elements: 16-byte alignment of rows survives in every dtype
  auto wide = array.shape();
  wide.back() += 2 * kGap;
  const auto view =
      Array(array.space(), array.dtype(), wide).part(wide.size() - 1, kGap, array.shape().back());
  assign(view, array);
  return view;
}

/// q, k and v as slices of one buffer [B, T, H K + H K + HV V], as a fused projection leaves them.
void fuse(const Problem& p, Arrays& inputs) {
  const auto& q = inputs.at(Name::q);
  const Array buffer(q.space(), q.dtype(), {p.B, p.T, 2 * p.H * p.K + p.HV * p.V});
  std::int64_t begin = 0;
  for (const auto name : {Name::q, Name::k, Name::v}) {
    auto& array = inputs.at(name);
    const auto channels = array.shape()[3], row = array.shape()[2] * channels;
    const auto slice = buffer.part(2, begin, row).with_axis_split(2, channels);
    assign(slice, array);
    array = slice;
    begin += row;
  }
}

PlacedCall arranged(const PlacedCall& call, View view) {
  auto other = call;
  other.problem.view = view;
  for (auto& [name, array] : other.inputs)
    array = view == View::kPadded ? padded(array) : copy(array);
  if (view == View::kFused) fuse(call.problem, other.inputs);
  return other;
}

Verdict strided_views(const Kernel& kernel, const Case& c) {
  return judge_in_place(kernel, c, [&](const PlacedCall& call) -> Violation {
    const auto want = run(kernel, call);
    for (auto view : {View::kDense, View::kPadded, View::kFused}) {
      const auto other = arranged(call, view);
      if (auto found = difference(call.problem, run(kernel, other), want))
        return fmt::format("{}: {}", to_string(other.problem), *found);
    }
    return std::nullopt;
  });
}

Verdict state_layout(const Kernel& kernel, const Case& c) {
  return judge_in_place(kernel, c, [&](const PlacedCall& call) {
    auto other = call;
    other.problem.layout =
        call.problem.layout == StateLayout::kKV ? StateLayout::kVK : StateLayout::kKV;
    for (auto& [name, array] : other.inputs)
      if (is_state(name)) array = copy(array.with_axes_swapped(2, 3));
    auto got = run(kernel, other);
    for (auto& [name, array] : got)
      if (is_state(name)) array = copy(array.with_axes_swapped(2, 3));
    return difference(call.problem, got, run(kernel, call));
  });
}

Verdict default_scale(const Kernel& kernel, const Case& c) {
  if (c.problem.scale) return skipped("the scale is given");
  return judge_in_place(kernel, c, [&](PlacedCall call) {
    const auto want = run(kernel, call);
    call.problem.scale = call.problem.scale_value();
    return difference(call.problem, run(kernel, call), want);
  });
}

Verdict doubled_b(const Kernel& kernel, const Case& c) {
  if (!c.problem.neg_eigval) return skipped("b is not doubled in the kernel");
  return judge_in_place(kernel, c, [&](PlacedCall call) {
    auto want = run(kernel, call);
    if (want.contains(Name::db) && c.problem.dtype == Format::kF16)
      want.erase(Name::db);  // doubling is exact unless it leaves the subnormals
    call.problem.neg_eigval = false;
    const auto b = call.inputs[Name::b] = copy(call.inputs[Name::b]);
    assign(b, b, 2);
    const auto got = run(kernel, call);
    if (const auto db = got.find(Name::db); db != got.end()) assign(db->second, db->second, 2);
    return difference(call.problem, got, want);
  });
}

Verdict gate_outside(const Kernel& kernel, const Case& c) {
  if (c.problem.gate == Gate::kLog) return skipped("no gate in the kernel");
  return judge(c, [&](const Call& call) {
    const auto& p = call.problem;
    auto outside = call;
    outside.problem.gate = Gate::kLog;
    outside.problem.g_dtype = p.state_dtype();
    for (auto name : {Name::A_log, Name::dt_bias}) outside.inputs.erase(name);
    const auto& x = call.inputs.at(Name::g);
    Tensor g(outside.problem.g_dtype, shape_of(outside.problem, Name::g));
    for (std::int64_t i = 0; i < g.size(); ++i) {
      const auto channel = i % (p.H * p.K);
      g.set(i, options::gate<double>(p, x.get(i), call.inputs.at(Name::A_log).get(channel / p.K),
                                     call.inputs.at(Name::dt_bias).get(channel))
                   .g);
    }
    outside.inputs[Name::g] = g;
    auto want = run(kernel, outside);
    want.erase(Name::dg);  // by g there, by x here
    return Margin(kernel, call).with(Margin(kernel, outside)).beyond(run(kernel, call), want);
  });
}

/// q and k, normalised in double and stored in the problem's dtype.
Tensors normalized_inputs(const Call& call) {
  auto inputs = call.inputs;
  for (auto name : {Name::q, Name::k}) {
    auto& tensor = inputs[name] = inputs[name].clone();
    const auto K = call.problem.K;
    for (std::int64_t row = 0; row < tensor.size(); row += K) {
      double sum = kL2NormEpsilon;
      for (auto i = row; i < row + K; ++i) sum += tensor.get(i) * tensor.get(i);
      for (auto i = row; i < row + K; ++i) tensor.set(i, tensor.get(i) / std::sqrt(sum));
    }
  }
  return inputs;
}

Verdict norm_outside(const Kernel& kernel, const Case& c) {
  if (!c.problem.l2norm) return skipped("no L2 norm in the kernel");
  return judge(c, [&](const Call& call) {
    Call outside{call.problem, normalized_inputs(call)};
    outside.problem.l2norm = false;
    auto want = run(kernel, outside);
    for (auto name : {Name::dq, Name::dk}) want.erase(name);  // by the normalised ones there
    auto contract = kernel.contract(call.problem);
    auto margin = Margin(contract, call);
    contract.normalized = format_of(call.problem.storage());  // as what is given is rounded
    return margin.with(Margin(contract, call)).beyond(run(kernel, call), want);
  });
}

}  // namespace

std::vector<Law> equivalence_laws() {
  constexpr auto kMargin = Law::Kind::kMargin;
  return {
      {"none_is_zeros", "no S_0, no dS_T = zeros (X5)", none_is_zeros},
      {"unasked_final_state", "results do not depend on whether S_T is asked for (X5)",
       unasked_final_state},
      {"strided_views", "a strided view, poison between its rows, = its dense copy (X5)",
       strided_views},
      {"state_layout", "states [K, V] = states [V, K] transposed (X5)", state_layout},
      {"default_scale", "no scale = K^-1/2 (X5)", default_scale},
      {"doubled_b", "b doubled in the kernel = 2 b given (X5)", doubled_b},
      {"gate_outside", "a gate in the kernel = the g it stands for, but for rounding (X5)",
       gate_outside, kMargin},
      {"norm_outside", "an L2 norm in the kernel = normalised q and k, but for rounding (X5)",
       norm_outside, kMargin},
  };
}

}  // namespace gdr2::laws
