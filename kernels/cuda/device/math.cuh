// SPDX-License-Identifier: Apache-2.0
// Elementary functions in fp32. The accurate ones are within 2 ulp and right at -inf, +inf, 0 and
// subnormal results; `fast_exp` is for arguments whose relative error of 2 + |x| ulp is affordable
// (16-bit operands). Never built with fast-math.
#pragma once

#include <cmath>

#include "kernels/cuda/device/platform.cuh"

namespace gdr2::cuda {

__host__ __device__ __forceinline__ float infinity() { return HUGE_VALF; }

__device__ __forceinline__ float exp_(float x) { return expf(x); }
__device__ __forceinline__ float log1p_(float x) { return log1pf(x); }
__device__ __forceinline__ float sqrt_(float x) { return sqrtf(x); }
__device__ __forceinline__ float fma_(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ float max_(float a, float b) { return a > b ? a : b; }
__device__ __forceinline__ float min_(float a, float b) { return a < b ? a : b; }

// exp through the special-function unit; exp(-inf) = 0, subnormal results are flushed to 0.
__device__ __forceinline__ float fast_exp(float x) {
#if defined(GDR2_CUDA_ON_HOST)
  const float y = std::exp2(x * 1.4426950408889634f);
  return y < 1.17549435e-38f ? 0.0f : y;
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.4426950408889634f));
  return y;
#endif
}

// 1 / x within an ulp; infinite at 0, subnormals are taken for 0.
__device__ __forceinline__ float fast_reciprocal(float x) {
#if defined(GDR2_CUDA_ON_HOST)
  return 1.0f / x;
#else
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

// log(1 + exp(x)) without overflow; x itself for large x.
__device__ __forceinline__ float softplus(float x) {
  return max_(x, 0.0f) + log1p_(exp_(-fabsf(x)));
}

// 1 / (1 + exp(-x)), finite at both ends.
__device__ __forceinline__ float sigmoid(float x) {
  const float e = exp_(-fabsf(x));
  return (x >= 0.0f ? 1.0f : e) / (1.0f + e);
}

__host__ __device__ constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
__host__ __device__ constexpr int round_up(int a, int b) { return (a + b - 1) / b * b; }

}  // namespace gdr2::cuda
