// SPDX-License-Identifier: Apache-2.0
// The 16-bit number types and the roundings between them and fp32, always to nearest: ties to
// even for bf16 and fp16 (overflow to infinity), ties away for tf32, which is what the tensor
// cores' own conversion does. NaN stays NaN.
#pragma once

#include "kernels/cuda/device/platform.cuh"

#if !defined(GDR2_CUDA_ON_HOST)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace gdr2::cuda {

struct Bf16 {
  uint16_t bits;
};
struct Fp16 {
  uint16_t bits;
};

__device__ __forceinline__ uint32_t bits_of(float x) {
#if defined(GDR2_CUDA_ON_HOST)
  return on_host::bits_of(x);
#else
  return __float_as_uint(x);
#endif
}

__device__ __forceinline__ float float_of(uint32_t bits) {
#if defined(GDR2_CUDA_ON_HOST)
  return on_host::float_of(bits);
#else
  return __uint_as_float(bits);
#endif
}

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(Bf16 x) {
  return float_of(static_cast<uint32_t>(x.bits) << 16);
}
__device__ __forceinline__ float to_float(Fp16 x) {
#if defined(GDR2_CUDA_ON_HOST)
  return on_host::float_from_fp16(x.bits);
#else
  return __half2float(__ushort_as_half(x.bits));
#endif
}

// from_float<T>(x): x rounded to T.
template <class T>
__device__ __forceinline__ T from_float(float x);
template <>
__device__ __forceinline__ float from_float<float>(float x) {
  return x;
}
template <>
__device__ __forceinline__ Bf16 from_float<Bf16>(float x) {
#if defined(GDR2_CUDA_ON_HOST)
  return {on_host::bf16_from_float(x)};
#else
  return {__bfloat16_as_ushort(__float2bfloat16_rn(x))};
#endif
}
template <>
__device__ __forceinline__ Fp16 from_float<Fp16>(float x) {
#if defined(GDR2_CUDA_ON_HOST)
  return {on_host::fp16_from_float(x)};
#else
  return {__half_as_ushort(__float2half_rn(x))};
#endif
}

// x rounded to tf32 (10 mantissa bits), as a float.
__device__ __forceinline__ float round_to_tf32(float x) {
#if defined(GDR2_CUDA_ON_HOST)
  return on_host::tf32_from_float(x);
#else
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
#endif
}

// Two 16-bit numbers in a register, the first in the low half.
template <class T>
__device__ __forceinline__ uint32_t pack2(float low, float high);
template <>
__device__ __forceinline__ uint32_t pack2<Bf16>(float low, float high) {
#if defined(GDR2_CUDA_ON_HOST)
  return on_host::bf16_from_float(low) | static_cast<uint32_t>(on_host::bf16_from_float(high))
                                             << 16;
#else
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#endif
}
template <>
__device__ __forceinline__ uint32_t pack2<Fp16>(float low, float high) {
#if defined(GDR2_CUDA_ON_HOST)
  return on_host::fp16_from_float(low) | static_cast<uint32_t>(on_host::fp16_from_float(high))
                                             << 16;
#else
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#endif
}

template <class T>
__device__ __forceinline__ float low_of(uint32_t pair) {
  return to_float(T{static_cast<uint16_t>(pair & 0xffffu)});
}
template <class T>
__device__ __forceinline__ float high_of(uint32_t pair) {
  return to_float(T{static_cast<uint16_t>(pair >> 16)});
}

}  // namespace gdr2::cuda
