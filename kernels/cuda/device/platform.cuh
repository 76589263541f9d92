// SPDX-License-Identifier: Apache-2.0
// The words of CUDA C++ that device code may use: __global__, __device__, __host__,
// __forceinline__, __launch_bounds__, dim3, #pragma unroll. With GDR2_CUDA_ON_HOST the same
// sources are plain C++: the words come from the emulation, which runs one fiber per CUDA thread.
//
// Everything else that a standard compiler does not know (indices, barriers, shuffles, shared
// memory, tensor cores, asynchronous copies, launches) has a small function in this folder, so
// kernels hold no inline PTX, no <<<>>>, no static __shared__ and no intrinsics. All collectives
// of a warp are called by its 32 lanes, all barriers by every thread that they count.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(GDR2_CUDA_ON_HOST)
#include "tests/cuda_on_host/cuda_on_host.hpp"
#define GDR2_NOINLINE [[gnu::noinline]]
#else
#include <cuda_runtime.h>
#define GDR2_NOINLINE __noinline__
#endif

namespace gdr2::cuda {

constexpr int kWarp = 32;

// Is this a translation for Hopper (sm_90a), whose warpgroup products and bulk copies no other
// architecture has? Kernels that use them have an empty body elsewhere and are not launched.
#if defined(GDR2_CUDA_ON_HOST) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
constexpr bool kHopper = true;
#else
constexpr bool kHopper = false;
#endif

// N elements that are loaded and stored at once when N * sizeof(T) is 4, 8 or 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T x[N];
  __host__ __device__ __forceinline__ T& operator[](int i) { return x[i]; }
  __host__ __device__ __forceinline__ const T& operator[](int i) const { return x[i]; }
};

}  // namespace gdr2::cuda
