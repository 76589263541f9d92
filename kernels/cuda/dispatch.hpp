// SPDX-License-Identifier: Apache-2.0
// From run-time numbers to template arguments. `validate` has refused every other value.
//
//     dispatch_products(problem, [&](auto policy) { using P = decltype(policy); ... });
//     dispatch_padded(problem.K, [&](auto kp) { constexpr int KP = kp; ... });
#pragma once

#include <type_traits>

#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/problem.cuh"

namespace gdr2::cuda {

template <class Function>
void dispatch_products(const DeviceProblem& problem, Function&& function) {
  switch (problem.products) {
    case GDR2_FORMAT_BF16: return function(Bf16Products{});
    case GDR2_FORMAT_F16: return function(Fp16Products{});
    case GDR2_FORMAT_TF32: return function(Tf32Products{});
    default: return function(Fp32Products{});
  }
}

// Channels padded to 64, 128 or 256: the padding is zero and neutral.
template <class Function>
void dispatch_padded(int channels, Function&& function) {
  if (channels <= 64) return function(std::integral_constant<int, 64>{});
  if (channels <= 128) return function(std::integral_constant<int, 128>{});
  return function(std::integral_constant<int, 256>{});
}

}  // namespace gdr2::cuda
