// SPDX-License-Identifier: Apache-2.0
// Products of pairs of 16-bit numbers, two at a time: what rounds to the number's own type needs no way
// through fp32.
#pragma once

#include "kernels/cuda/device/convert.cuh"

namespace gdr2::cuda {

#if !defined(GDR2_CUDA_ON_HOST)
template <class T>
struct Packed;
template <>
struct Packed<Bf16> {
  using Type = __nv_bfloat162;
};
template <>
struct Packed<Fp16> {
  using Type = __half2;
};
template <class T>
__device__ __forceinline__ typename Packed<T>::Type packed(uint32_t pair) {
  return *reinterpret_cast<const typename Packed<T>::Type*>(&pair);
}
#endif

// a b, rounded.
template <class T>
__device__ __forceinline__ uint32_t multiply_pairs(uint32_t a, uint32_t b) {
#if defined(GDR2_CUDA_ON_HOST)
  return pack2<T>(low_of<T>(a) * low_of<T>(b), high_of<T>(a) * high_of<T>(b));
#else
  const auto product = __hmul2(packed<T>(a), packed<T>(b));
  return *reinterpret_cast<const uint32_t*>(&product);
#endif
}

// What rounding took from multiply_pairs, rounded in its turn.
template <class T>
__device__ __forceinline__ uint32_t rest_of_product(uint32_t a, uint32_t b, uint32_t product) {
#if defined(GDR2_CUDA_ON_HOST)
  return pack2<T>(low_of<T>(a) * low_of<T>(b) - low_of<T>(product),
                  high_of<T>(a) * high_of<T>(b) - high_of<T>(product));  // exact in fp32
#else
  const auto rest = __hfma2(packed<T>(a), packed<T>(b), __hneg2(packed<T>(product)));
  return *reinterpret_cast<const uint32_t*>(&rest);
#endif
}

}  // namespace gdr2::cuda
