// SPDX-License-Identifier: Apache-2.0
// X1: factors that are powers of two, and signs, pass through a kernel exactly.
#include "properties/laws/family.hpp"

#include <cmath>

namespace gdr2::laws {
namespace {

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
      case Name::k:
      case Name::h0:
      case Name::ht:
      case Name::dq: return std::ldexp(1, n);
      case Name::q:
      case Name::dk:
      case Name::dh0:
      case Name::dht: return std::ldexp(1, -n);
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
      case Name::v:
      case Name::h0:
      case Name::o:
      case Name::ht: return 8.0;
      case Name::dq:
      case Name::dk:
      case Name::dg:
      case Name::db:
      case Name::dw:
      case Name::dA_log:
      case Name::ddt_bias: return 8.0;
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

}  // namespace

std::vector<Law> scaling_laws() {
  return {
      {"channel_scaling",
       "k_c 2^n, q_c 2^-n, b_c 4^-n, S_0 row c 2^n: o keeps its bits, S_T row c scales (X1)",
       channel_scaling},
      {"channel_sign", "q, k and S_0 of a key channel negated: o keeps its bits (X1)",
       channel_sign},
      {"value_scaling", "v and S_0 times 8: o and S_T times 8 (X1)", value_scaling},
      {"query_scaling", "q times 1/4: o times 1/4 (X1)", query_scaling},
      {"scale_by_two", "scale times 2: o times 2, S_T unchanged (X1)", scale_by_two},
  };
}

}  // namespace gdr2::laws
