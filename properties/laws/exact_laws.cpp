// SPDX-License-Identifier: Apache-2.0
// The exact laws X1 to X8 of docs/MATH.md 7.
#include <cmath>
#include <numeric>

#include "properties/laws/law.hpp"
#include "properties/laws/law_run.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

using namespace laws;
using Violation = std::optional<std::string>;

Verdict skipped(const char* why) { return {State::kSkipped, "laws", why, {}}; }

/// Runs a law's body; a problem that the kernel does not support skips the law.
template <class Body>
Verdict judge(const Case& c, const Body& body) {
  try {
    const Violation violation = body(Call{c.problem, make_inputs(c)});
    if (!violation) return {};
    return {State::kFailed, "laws", *violation, {}};
  } catch (const Unsupported& reason) {
    return {State::kSkipped, "laws", reason.what(), {}};
  } catch (const std::exception& error) {
    return {State::kCrashed, "laws", error.what(), {}};
  }
}

/// All tensors with every element multiplied by factor(name, index).
template <class Factor>
Tensors scaled(const Tensors& tensors, const Factor& factor) {
  Tensors out;
  for (const auto& [name, tensor] : tensors)
    out[name] = changed(tensor, [&](const Index& i, double x) {
      const double f = factor(name, i);
      return f == 1 || std::isinf(x) ? x : x * f;
    });
  return out;
}

/// Scaling inputs must scale results, exactly. factor(name, index) is given for both.
template <class Factor>
Verdict check_scaling(const Kernel& kernel, const Case& c, const Factor& factor) {
  return judge(c, [&](const Call& call) {
    const auto want = scaled(run(kernel, call), factor);
    return difference(call.problem, run(kernel, {call.problem, scaled(call.inputs, factor)}), want);
  });
}

/// Key channel of an element of a key-side or state tensor.
std::int64_t key_channel(const Problem& p, Name name, const Index& i) {
  if (!is_state(name)) return i[3];
  return p.layout == StateLayout::kKV ? i[2] : i[3];
}

constexpr const char* kSubnormal = "fp16 operands meet subnormals, which do not scale";
constexpr const char* kNorm = "the L2 norm in the kernel undoes a scaling of channels";

Verdict channel_scaling(const Kernel& kernel, const Case& c) {
  if (c.problem.l2norm) return skipped(kNorm);
  if (c.problem.dtype == Format::kF16) return skipped(kSubnormal);
  return check_scaling(kernel, c, [&](Name name, const Index& i) {
    if (is_value_side(name) || is_parameter(name)) return 1.0;
    const int n = int(key_channel(c.problem, name, i) * 7 % 5) - 2;
    switch (name) {
      case Name::k: case Name::h0: case Name::ht: case Name::dq: return std::ldexp(1, n);
      case Name::q: case Name::dk: case Name::dh0: case Name::dht: return std::ldexp(1, -n);
      case Name::b: return std::ldexp(1, -2 * n);
      case Name::db: return std::ldexp(1, 2 * n);
      default: return 1.0;
    }
  });
}

Verdict channel_sign(const Kernel& kernel, const Case& c) {
  return check_scaling(kernel, c, [&](Name name, const Index& i) {
    const bool flips = name == Name::q || name == Name::k || name == Name::dq || name == Name::dk ||
                       is_state(name);
    return flips && key_channel(c.problem, name, i) % 3 == 1 ? -1.0 : 1.0;
  });
}

Verdict value_scaling(const Kernel& kernel, const Case& c) {
  if (c.problem.dtype == Format::kF16) return skipped(kSubnormal);
  return check_scaling(kernel, c, [&](Name name, const Index&) {
    switch (name) {
      case Name::v: case Name::h0: case Name::o: case Name::ht: return 8.0;
      case Name::dq: case Name::dk: case Name::dg: case Name::db: case Name::dw:
      case Name::dA_log: case Name::ddt_bias: return 8.0;
      default: return 1.0;
    }
  });
}

Verdict query_scaling(const Kernel& kernel, const Case& c) {
  if (c.problem.l2norm) return skipped(kNorm);
  if (c.problem.dtype == Format::kF16) return skipped(kSubnormal);
  if (c.problem.backward && c.problem.has_dht())
    return skipped("the final state's cotangent does not scale with q");
  return check_scaling(kernel, c, [&](Name name, const Index&) {
    if (name == Name::ht || name == Name::dq) return 1.0;
    const bool result = int(name) >= int(Name::o);
    return name == Name::q || result ? 0.25 : 1.0;
  });
}

Verdict scale_by_two(const Kernel& kernel, const Case& c) {
  return judge(c, [&](Call call) -> Violation {
    call.problem.backward = false;
    auto want = run(kernel, call);
    if (c.problem.dtype != Format::kF16)
      want[Name::o] = changed(want[Name::o], [](const Index&, double x) { return 2 * x; });
    else
      want.erase(Name::o);  // kSubnormal
    call.problem.scale = 2 * call.problem.scale_value();
    return difference(call.problem, run(kernel, call), want);
  });
}

/// The token up to which a sequence is left alone: not at a block's edge where it can be helped.
std::int64_t kept(Sequence s) { return s.begin + (s.length() > 8 ? s.length() / 2 + 5 : s.length() / 2); }

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
      const auto want = changed(got.at(name), [&](const Index& i, double x) {
        return later[i[0] * p.T + i[1]] ? 0 : x;
      });
      if (auto found = difference(p, name, got.at(name), want)) return found;
    }
    return std::nullopt;
  });
}

std::vector<std::int64_t> all_sequences(const Problem& p) {
  std::vector<std::int64_t> order(p.N());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Results by sequence: those that sum over sequences are left out.
Tensors per_sequence(Tensors results) {
  results.erase(Name::dA_log);
  results.erase(Name::ddt_bias);
  return results;
}

/// The results of some sequences of a call, cut from results of all.
Tensors cut(const Call& call, const Tensors& results, const std::vector<std::int64_t>& order) {
  return select({call.problem, per_sequence(results)}, order).inputs;
}

Verdict sequence_alone(const Kernel& kernel, const Case& c) {
  if (c.problem.N() == 1) return skipped("one sequence");
  return judge(c, [&](const Call& call) -> Violation {
    const auto all = run(kernel, call);
    for (auto n : all_sequences(call.problem)) {
      const auto alone = select(call, {n});
      if (auto found = difference(alone.problem, per_sequence(run(kernel, alone)), cut(call, all, {n})))
        return fmt::format("sequence {} alone: {}", n, *found);
    }
    return std::nullopt;
  });
}

Verdict sequence_order(const Kernel& kernel, const Case& c) {
  if (c.problem.N() == 1) return skipped("one sequence");
  return judge(c, [&](const Call& call) {
    auto order = all_sequences(call.problem);
    std::reverse(order.begin(), order.end());
    const auto other = select(call, order);
    return difference(other.problem, per_sequence(run(kernel, other)),
                      cut(call, run(kernel, call), order));
  });
}

Verdict poisoned_neighbours(const Kernel& kernel, const Case& c) {
  if (c.problem.N() == 1) return skipped("one sequence");
  return judge(c, [&](const Call& call) -> Violation {
    const auto& p = call.problem;
    const auto want = run(kernel, call);
    for (auto kept_sequence : {std::int64_t{0}, p.N() / 2, p.N() - 1}) {
      auto poisoned = call;
      const auto s = sequence_of(p, kept_sequence);
      for (auto& [name, tensor] : poisoned.inputs) {
        if (is_parameter(name)) continue;
        tensor = changed(tensor, [&](const Index& i, double x) {
          const auto t = i[0] * p.T + i[1];
          const bool own = is_state(name) ? i[0] == kept_sequence : t >= s.begin && t < s.end;
          return own ? x : NAN;
        });
      }
      const auto got = cut(call, run(kernel, poisoned), {kept_sequence});
      if (auto found = difference(select(call, {kept_sequence}).problem, got,
                                  cut(call, want, {kept_sequence})))
        return fmt::format("sequence {} beside NaN: {}", kept_sequence, *found);
    }
    return std::nullopt;
  });
}

Verdict empty_sequences(const Kernel& kernel, const Case& c) {
  if (c.problem.lens.empty()) return skipped("not packed");
  return judge(c, [&](const Call& call) -> Violation {
    const auto results = run(kernel, call);
    for (auto [result, given] : {std::pair{Name::ht, Name::h0}, std::pair{Name::dh0, Name::dht}}) {
      const auto found = results.find(result);
      if (found == results.end()) continue;
      const bool has = call.inputs.contains(given);
      const auto want = changed(found->second, [&](const Index& i, double x) {
        if (call.problem.lens[i[0]]) return x;
        const auto& shape = found->second.shape();
        const auto index = ((i[0] * shape[1] + i[1]) * shape[2] + i[2]) * shape[3] + i[3];
        return has ? call.inputs.at(given).get(index) : 0;
      });
      if (auto violation = difference(call.problem, result, found->second, want)) return violation;
    }
    return std::nullopt;
  });
}

/// Heads rotated by one key head and its group.
Tensors rotated(const Problem& p, const Tensors& tensors) {
  Tensors out;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t axis = is_parameter(name) ? 0 : is_state(name) ? 1 : 2;
    const auto heads = tensor.shape()[axis];
    const auto shift = heads == p.HV && !is_key_side(name) && !is_parameter(name) ? p.group() : 1;
    std::int64_t inner = 1;
    for (auto d = axis + 1; d < tensor.shape().size(); ++d) inner *= tensor.shape()[d];
    auto copy = tensor.clone();
    for (std::int64_t i = 0; i < copy.size(); ++i) {
      const auto head = i / inner % heads;
      copy.set(i, tensor.get(i + ((head + shift) % heads - head) * inner));
    }
    out[name] = copy;
  }
  return out;
}

Verdict head_permutation(const Kernel& kernel, const Case& c) {
  if (c.problem.H == 1) return skipped("one head");
  return judge(c, [&](const Call& call) {
    return difference(call.problem, run(kernel, {call.problem, rotated(call.problem, call.inputs)}),
                      rotated(call.problem, run(kernel, call)));
  });
}

Verdict none_is_zeros(const Kernel& kernel, const Case& c) {
  return judge(c, [&](Call call) -> Violation {
    call.problem.h0 = false;
    call.inputs.erase(Name::h0);
    if (call.problem.backward && call.problem.has_dht() && call.problem.has_do()) {
      call.problem.loss = Loss::kO;
      call.inputs.erase(Name::dht);
    }
    auto given = call;
    given.problem.h0 = true;
    given.inputs[Name::h0] = Tensor(call.problem.state_dtype(), shape_of(call.problem, Name::h0));
    if (call.problem.loss == Loss::kO && call.problem.backward) {
      given.problem.loss = Loss::kBoth;
      given.inputs[Name::dht] = given.inputs[Name::h0];
    }
    return difference(call.problem, run(kernel, call), run(kernel, given));
  });
}

Verdict unasked_final_state(const Kernel& kernel, const Case& c) {
  return judge(c, [&](Call call) {
    call.problem.ht = true;
    const auto want = run(kernel, call);
    call.problem.ht = false;
    return difference(call.problem, run(kernel, call), want);
  });
}

Verdict strided_views(const Kernel& kernel, const Case& c) {
  return judge(c, [&](const Call& call) -> Violation {
    const auto want = run(kernel, call);
    for (auto view : {View::kDense, View::kPadded, View::kFused}) {
      auto other = c;
      other.problem.view = view;
      const auto got = run(kernel, {other.problem, make_inputs(other)});
      if (auto found = difference(call.problem, got, want))
        return fmt::format("{}: {}", to_string(other.problem), *found);
    }
    return std::nullopt;
  });
}

Verdict shared_heads_repeated(const Kernel& kernel, const Case& c) {
  if (c.problem.group() == 1) return skipped("no shared heads");
  return judge(c, [&](Call call) {
    call.problem.backward = false;
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
    return difference(call.problem, run(kernel, repeated), run(kernel, call));
  });
}

Verdict repeatable(const Kernel& kernel, const Case& c) {
  return judge(c, [&](const Call& call) -> Violation {
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
  return judge(c, [&](Call call) -> Violation {
    call.problem.backward = false;
    call.problem.ht = true;
    const auto want = run(kernel, call);
    constexpr std::int64_t kMore = 70;  // to the end of the chunk and past it
    auto longer = call;
    longer.problem.T += kMore;
    for (auto name : {Name::q, Name::k, Name::v, Name::g, Name::b, Name::w}) {
      const auto& from = call.inputs.at(name);
      Tensor to(from.dtype(), shape_of(longer.problem, name));
      const auto inner = from.size() / call.problem.B, outer = to.size() / call.problem.B;
      for (std::int64_t i = 0; i < to.size(); ++i) {
        const auto batch = i / outer, at = i % outer;
        const bool neutral = name == Name::k || name == Name::g;
        to.set(i, at < inner ? from.get(batch * inner + at) : neutral ? 0 : 0.5);
      }
      longer.inputs[name] = to;
    }
    return difference(call.problem, Name::ht, run(kernel, longer).at(Name::ht), want.at(Name::ht));
  });
}

}  // namespace

const std::vector<Law>& exact_laws() {
  static const std::vector<Law> laws{
      {"channel_scaling", "k_c 2^n, q_c 2^-n, b_c 4^-n, S_0 row c 2^n: o keeps its bits, S_T row c scales (X1)", channel_scaling},
      {"channel_sign", "q, k and S_0 of a key channel negated: o keeps its bits (X1)", channel_sign},
      {"value_scaling", "v and S_0 times 8: o and S_T times 8 (X1)", value_scaling},
      {"query_scaling", "q times 1/4: o times 1/4 (X1)", query_scaling},
      {"scale_by_two", "scale times 2: o times 2, S_T unchanged (X1)", scale_by_two},
      {"causality", "editing later tokens leaves o of earlier ones (X2)", causality},
      {"no_gradient_from_later", "a loss on early tokens has no gradient at later ones (X2)", no_gradient_from_later},
      {"sequence_alone", "a sequence in a batch or pack = the sequence alone (X3)", sequence_alone},
      {"sequence_order", "the order of sequences does not matter (X3)", sequence_order},
      {"poisoned_neighbours", "NaN in other sequences does not reach a sequence (X3)", poisoned_neighbours},
      {"empty_sequences", "an empty sequence returns its state and cotangent (X3)", empty_sequences},
      {"head_permutation", "heads permuted: results permuted (X4)", head_permutation},
      {"none_is_zeros", "no S_0, no dS_T = zeros (X5)", none_is_zeros},
      {"unasked_final_state", "results do not depend on whether S_T is asked for (X5)", unasked_final_state},
      {"strided_views", "a strided view = its dense copy (X5)", strided_views},
      {"shared_heads_repeated", "shared query/key heads = repeated ones (X6)", shared_heads_repeated},
      {"repeatable", "30 calls give the same bits (X7)", repeatable},
      {"neutral_tokens", "tokens with k = 0, g = 0 at the end leave the state (X8)", neutral_tokens},
  };
  return laws;
}

const Law& find_law(const std::string& name) {
  std::string known;
  for (const auto& law : exact_laws()) {
    if (law.name == name) return law;
    known += (known.empty() ? "" : ", ") + law.name;
  }
  fail("law: '{}' is not known; known are {}", name, known);
}

}  // namespace gdr2
