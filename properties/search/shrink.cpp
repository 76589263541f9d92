// SPDX-License-Identifier: Apache-2.0
#include "properties/search/shrink.hpp"

#include <cmath>
#include <optional>

#include "properties/search/slice.hpp"
#include "reference/options.hpp"

namespace gdr2::search {
namespace {

using laws::Call;

/// g as the gate in the kernel would give it, given from outside.
Call with_gate_outside(const Call& call) {
  auto out = call;
  const auto& p = call.problem;
  out.problem.gate = Gate::kLog;
  out.problem.g_dtype = p.state_dtype();
  Tensor g(out.problem.g_dtype, shape_of(out.problem, Name::g));
  for (std::int64_t i = 0; i < g.size(); ++i) {
    const auto channel = i % (p.H * p.K);
    g.set(i, options::gate<double>(p, call.inputs.at(Name::g).get(i),
                                   call.inputs.at(Name::A_log).get(channel / p.K),
                                   call.inputs.at(Name::dt_bias).get(channel))
                 .g);
  }
  out.inputs[Name::g] = g;
  out.inputs.erase(Name::A_log);
  out.inputs.erase(Name::dt_bias);
  return out;
}

/// Inputs that the problem does not ask for any more are dropped.
Call with_options(Call call, void (*change)(Problem&)) {
  change(call.problem);
  Tensors kept;
  for (const auto name : input_names(call.problem)) {
    const auto found = call.inputs.find(name);
    if (found == call.inputs.end()) return {};  // the change asks for more: no simplification
    kept[name] = found->second;
  }
  call.inputs = std::move(kept);
  return call;
}

double power_of_two(double x) {
  if (x == 0 || !std::isfinite(x)) return x;
  return std::copysign(std::ldexp(1, std::ilogb(x)), x);
}

class Shrinker {
 public:
  Shrinker(const Case& c, const StillFails& fails, int budget)
      : fails_(fails), budget_(budget), call_{c.problem, {}} {
    auto dense = c;
    dense.problem.view = View::kDense;
    for (const auto& [name, tensor] : make_inputs(dense)) call_.inputs[name] = tensor.clone();
  }

  Shrunk run() {
    for (auto size = std::int64_t{-1}; size != elements();) {
      size = elements();
      drop_sequences();
      drop_heads();
      drop_tokens();
      drop_channels();
      drop_options();
    }
    simplify_values();
    return {as_case(call_), evaluations_};
  }

 private:
  static Case as_case(const Call& call) {
    return {.problem = call.problem, .given = std::make_shared<Tensors>(call.inputs)};
  }

  std::int64_t elements() const {
    std::int64_t sum = 0;
    for (const auto& [name, tensor] : call_.inputs) sum += tensor.size();
    return sum;
  }

  bool accept(const Call& candidate) {
    if (evaluations_ >= budget_) return false;
    ++evaluations_;
    if (!fails_(as_case(candidate))) return false;
    call_ = candidate;
    return true;
  }

  /// Drops ranges of half, a quarter ... one of count() items, the last ones first.
  template <class Count, class Without>
  void drop_ranges(std::int64_t least, const Count& count, const Without& without) {
    for (auto size = count() / 2; size > 0; size /= 2)
      for (auto end = count(); end > 0;) {
        const auto begin = std::max<std::int64_t>(0, end - size);
        if (count() - (end - begin) >= least && accept(without(begin, end)))
          end = std::min(begin, count());
        else
          end = begin;
      }
  }

  void drop_sequences() {
    auto& p = call_.problem;
    for (std::int64_t n = 0; n < p.N() && p.N() > 1; ++n)
      if (accept(laws::select(call_, {n}))) break;
    drop_ranges(
        1, [&] { return call_.problem.N(); },
        [&](auto begin, auto end) {
          return laws::select(call_, all_but(call_.problem.N(), begin, end));
        });
    if (p.lens.size() == 1 && p.T > 0) {
      auto alone = call_;
      alone.problem.lens.clear();
      accept(alone);
    }
  }

  void drop_heads() {
    auto& p = call_.problem;
    for (std::int64_t h = 0; h < p.H && p.H > 1; ++h)
      if (accept(with_key_heads(call_, {h}))) break;
    drop_ranges(
        1, [&] { return call_.problem.H; },
        [&](auto begin, auto end) {
          return with_key_heads(call_, all_but(call_.problem.H, begin, end));
        });
    for (std::int64_t i = 0; i < p.group() && p.group() > 1; ++i)
      if (accept(with_value_head(call_, i))) break;
  }

  void drop_tokens() {
    const auto count = call_.problem.lens.empty() ? 1 : call_.problem.N();
    for (std::int64_t n = 0; n < count; ++n)
      drop_ranges(
          call_.problem.lens.empty() ? 1 : 0, [&] { return call_.problem.sequences()[n].length(); },
          [&](auto begin, auto end) { return without_tokens(call_, n, begin, end); });
  }

  void drop_channels() {
    drop_ranges(
        1, [&] { return call_.problem.K; },
        [&](auto begin, auto end) {
          return with_key_channels(call_, all_but(call_.problem.K, begin, end));
        });
    drop_ranges(
        1, [&] { return call_.problem.V; },
        [&](auto begin, auto end) {
          return with_value_channels(call_, all_but(call_.problem.V, begin, end));
        });
  }

  void drop_options() {
    using Change = void (*)(Problem&);
    static constexpr Change kChanges[] = {
        [](Problem& p) { p.backward = false; },    [](Problem& p) { p.loss = p.backward ? Loss::kO : p.loss; },
        [](Problem& p) { p.loss = p.backward ? Loss::kHt : p.loss; },    [](Problem& p) { p.h0 = false; },
        [](Problem& p) { p.view = View::kDense; }, [](Problem& p) { p.l2norm = false; },
        [](Problem& p) { p.neg_eigval = false; },  [](Problem& p) { p.scale = 1; },
    };
    if (call_.problem.gate != Gate::kLog) accept(with_gate_outside(call_));
    for (const auto change : kChanges) {
      const auto candidate = with_options(call_, change);
      if (!candidate.inputs.empty() && candidate.problem != call_.problem) accept(candidate);
    }
  }

  /// One tensor with the elements of begin .. end changed.
  template <class Change>
  bool change_values(Name name, std::int64_t begin, std::int64_t end, const Change& change) {
    auto candidate = call_;
    auto tensor = candidate.inputs.at(name).clone();
    bool differs = false;
    for (auto i = begin; i < end; ++i) {
      const double before = tensor.get(i), after = change(before);
      if (after == before) continue;
      tensor.set(i, after);
      differs = true;
    }
    candidate.inputs[name] = tensor;
    return differs && accept(candidate);
  }

  /// Changes as large ranges as can be: all, halves, quarters ..., down to a 16th.
  template <class Change>
  void change_ranges(Name name, const Change& change) {
    const auto size = call_.inputs.at(name).size();
    for (auto range = size; range > 0 && range * 16 >= size; range /= 2)
      for (std::int64_t begin = 0; begin < size; begin += range)
        change_values(name, begin, std::min(size, begin + range), change);
  }

  void simplify_values() {
    for (const auto name : input_names(call_.problem)) {
      const auto size = call_.inputs.at(name).size();
      if (change_values(name, 0, size, [](double) { return 0; })) continue;
      if (!is_parameter(name) && name != Name::g)
        change_values(name, 0, size, [](double) { return 1; });
      change_ranges(name, power_of_two);
      change_ranges(name, [](double) { return 0; });
    }
  }

  const StillFails& fails_;
  int budget_, evaluations_ = 0;
  Call call_;
};

}  // namespace

Shrunk shrink(const Case& c, const StillFails& fails, int budget) {
  return Shrinker(c, fails, budget).run();
}

}  // namespace gdr2::search
