// SPDX-License-Identifier: Apache-2.0
// Exchange of registers within a warp. Called by all 32 lanes. T is a 4- or 8-byte type.
#pragma once

#include "kernels/cuda/device/thread.cuh"

namespace gdr2::cuda {

// The value of lane `source` (0..31, may differ by lane).
template <class T>
__device__ __forceinline__ T shuffle(T value, int source) {
#if defined(GDR2_CUDA_ON_HOST)
  return on_host::shuffle(value, source);
#else
  return __shfl_sync(0xffffffffu, value, source);
#endif
}

template <class T>
__device__ __forceinline__ T shuffle_xor(T value, int mask) {
#if defined(GDR2_CUDA_ON_HOST)
  return shuffle(value, lane_index() ^ mask);
#else
  return __shfl_xor_sync(0xffffffffu, value, mask);
#endif
}

// The value of lane - delta; lanes below delta keep their own.
template <class T>
__device__ __forceinline__ T shuffle_up(T value, int delta) {
#if defined(GDR2_CUDA_ON_HOST)
  return shuffle(value, lane_index() < delta ? lane_index() : lane_index() - delta);
#else
  return __shfl_up_sync(0xffffffffu, value, delta);
#endif
}

// The value of lane + delta; lanes past the end keep their own.
template <class T>
__device__ __forceinline__ T shuffle_down(T value, int delta) {
#if defined(GDR2_CUDA_ON_HOST)
  return shuffle(value, lane_index() + delta >= kWarp ? lane_index() : lane_index() + delta);
#else
  return __shfl_down_sync(0xffffffffu, value, delta);
#endif
}

// Sum over groups of `Width` neighbouring lanes (a power of two); every lane of the group gets
// the same bits.
template <int Width = kWarp>
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int mask = Width / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
  return value;
}

template <int Width = kWarp>
__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int mask = Width / 2; mask > 0; mask /= 2) {
    const float other = shuffle_xor(value, mask);
    value = other > value ? other : value;
  }
  return value;
}

template <int Width = kWarp>
__device__ __forceinline__ float warp_min(float value) {
  return -warp_max<Width>(-value);
}

// Inclusive prefix sum over the lanes of a warp.
template <class T>
__device__ __forceinline__ T warp_inclusive_sum(T value) {
#pragma unroll
  for (int delta = 1; delta < kWarp; delta *= 2) {
    const T below = shuffle_up(value, delta);
    if (lane_index() >= delta) value += below;
  }
  return value;
}

// Is the predicate true on any / all lanes?
__device__ __forceinline__ bool warp_any(bool predicate) {
#if defined(GDR2_CUDA_ON_HOST)
  return on_host::warp_any(predicate);
#else
  return __any_sync(0xffffffffu, predicate) != 0;
#endif
}

__device__ __forceinline__ bool warp_all(bool predicate) { return !warp_any(!predicate); }

}  // namespace gdr2::cuda
