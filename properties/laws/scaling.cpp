// SPDX-License-Identifier: Apache-2.0
// X1: factors that are powers of two, and signs, pass through a kernel exactly.
#include "properties/laws/family.hpp"

#include <cmath>

namespace gdr2::laws {
namespace {

/// Scaling inputs must scale results, exactly. scale(name, array) multiplies elements in place, of
/// copies of inputs and of results.
template <class Scale>
Verdict check_scaling(const Kernel& kernel, const Case& c, const Scale& scale) {
  return judge_in_place(kernel, c, [&](PlacedCall call) {
    const auto want = run(kernel, call);
    for (const auto& [name, array] : want) scale(name, array);
    for (auto& [name, array] : call.inputs) scale(name, array = copy(array));
    return difference(call.problem, run(kernel, call), want);
  });
}

/// The whole array times a factor.
void multiply(const Array& array, double factor) {
  if (factor != 1) assign(array, array, factor);
}

/// The axis of key channels of a key-side or state tensor.
std::size_t key_axis(const Problem& p, Name name) {
  return is_state(name) && p.layout == StateLayout::kKV ? 2 : 3;
}

constexpr const char* kSubnormal = "fp16 operands meet subnormals, which do not scale";
constexpr const char* kNorm = "the L2 norm in the kernel undoes a scaling of channels";

/// The power of a channel's factor that a tensor is multiplied by.
int power_of_channel(Name name) {
  switch (name) {
    case Name::k:
    case Name::h0:
    case Name::ht:
    case Name::dq: return 1;
    case Name::q:
    case Name::dk:
    case Name::dh0:
    case Name::dht: return -1;
    case Name::b: return -2;
    case Name::db: return 2;
    default: return 0;
  }
}

Verdict channel_scaling(const Kernel& kernel, const Case& c) {
  if (c.problem.l2norm) return skipped(kNorm);
  if (c.problem.dtype == Format::kF16) return skipped(kSubnormal);
  return check_scaling(kernel, c, [&](Name name, const Array& array) {
    if (!power_of_channel(name)) return;
    for (int r = 0; r < 5; ++r)
      multiply(every(array, key_axis(c.problem, name), r, 5),
               std::ldexp(1, power_of_channel(name) * (r * 7 % 5 - 2)));
  });
}

Verdict channel_sign(const Kernel& kernel, const Case& c) {
  return check_scaling(kernel, c, [&](Name name, const Array& array) {
    const bool flips = name == Name::q || name == Name::k || name == Name::dq || name == Name::dk ||
                       is_state(name);
    if (flips) multiply(every(array, key_axis(c.problem, name), 1, 3), -1);
  });
}

Verdict value_scaling(const Kernel& kernel, const Case& c) {
  if (c.problem.dtype == Format::kF16) return skipped(kSubnormal);
  return check_scaling(kernel, c, [&](Name name, const Array& array) {
    switch (name) {
      case Name::v:
      case Name::h0:
      case Name::o:
      case Name::ht:
      case Name::dq:
      case Name::dk:
      case Name::dg:
      case Name::db:
      case Name::dw:
      case Name::dA_log:
      case Name::ddt_bias: return multiply(array, 8);
      default: return;
    }
  });
}

Verdict query_scaling(const Kernel& kernel, const Case& c) {
  if (c.problem.l2norm) return skipped(kNorm);
  if (c.problem.dtype == Format::kF16) return skipped(kSubnormal);
  if (c.problem.backward && c.problem.has_dht())
    return skipped("the final state's cotangent does not scale with q");
  return check_scaling(kernel, c, [&](Name name, const Array& array) {
    if (name == Name::ht || name == Name::dq) return;
    const bool result = int(name) >= int(Name::o);
    if (name == Name::q || result) multiply(array, 0.25);
  });
}

Verdict scale_by_two(const Kernel& kernel, const Case& c) {
  return judge_in_place(kernel, c, [&](PlacedCall call) -> Violation {
    call.problem.backward = false;
    auto want = run(kernel, call);
    if (c.problem.dtype != Format::kF16)
      multiply(want[Name::o], 2);
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
