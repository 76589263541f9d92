// SPDX-License-Identifier: Apache-2.0
// Tiles [rows, channels] of strided tensors: copies into shared memory and row-wise access in
// registers, with masks on the loads (a masked element is zero, and its address is not touched).
// `vector` says that the tensor allows 16-byte accesses (TokenTensor::vector); otherwise elements
// go one by one.
#pragma once

#include "kernels/cuda/device/memory.cuh"
#include "kernels/cuda/problem.cuh"

namespace gdr2::cuda {

// tile[r][c] (Rows x Columns, leading dimension ld) = source[r * stride + c] for r < rows and c <
// channels, else 0, by the `Threads` threads 0 .. Threads - 1. Vector copies are asynchronous:
// copy_commit, copy_wait and a barrier follow; scalar copies are done when the call returns (a
// barrier follows all the same).
template <int Rows, int Columns, int Threads, class T>
__device__ __forceinline__ void copy_tile_async(T* tile, int ld, const T* source, int64_t stride,
                                                int rows, int channels, bool vector, int thread) {
  constexpr int kPack = 16 / sizeof(T), kPacks = Columns / kPack;
  if (vector) {
#pragma unroll 4
    for (int i = thread; i < Rows * kPacks; i += Threads) {
      const int r = i / kPacks, c = i % kPacks * kPack;
      const bool valid = r < rows && c < channels;
      copy_async_16(tile + r * ld + c, valid ? source + r * stride + c : source, valid);
    }
  } else {
    for (int i = thread; i < Rows * Columns; i += Threads) {
      const int r = i / Columns, c = i % Columns;
      tile[r * ld + c] = r < rows && c < channels ? source[r * stride + c] : T{};
    }
  }
}

// x[i] = row[c + i] as fp32 for c + i < channels, else 0. For the vector path c is a multiple of
// N, N of 4. `channels` <= 0 masks all (a row past the tail).
template <class T, int N>
__device__ __forceinline__ void load_channels(float (&x)[N], const T* row, int c, int channels,
                                              bool vector) {
  constexpr int kWhole = 16 / sizeof(T), kPack = N < kWhole ? N : kWhole;
  if constexpr (N % 4 == 0 && N % kPack == 0) {
    if (vector) {
#pragma unroll
      for (int i = 0; i < N; i += kPack) {
        Pack<T, kPack> pack{};
        if (c + i < channels) pack = *reinterpret_cast<const Pack<T, kPack>*>(row + c + i);
#pragma unroll
        for (int j = 0; j < kPack; ++j) x[i + j] = to_float(pack[j]);
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) x[i] = c + i < channels ? to_float(row[c + i]) : 0.0f;
}

// row[c + i] = x[i] rounded to T for c + i < channels.
template <class T, int N>
__device__ __forceinline__ void store_channels(T* row, const float (&x)[N], int c, int channels,
                                               bool vector) {
  constexpr int kWhole = 16 / sizeof(T), kPack = N < kWhole ? N : kWhole;
  if constexpr (N % 4 == 0 && N % kPack == 0) {
    if (vector) {
#pragma unroll
      for (int i = 0; i < N; i += kPack) {
        Pack<T, kPack> pack;
#pragma unroll
        for (int j = 0; j < kPack; ++j) pack[j] = from_float<T>(x[i + j]);
        if (c + i < channels) *reinterpret_cast<Pack<T, kPack>*>(row + c + i) = pack;
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i)
    if (c + i < channels) row[c + i] = from_float<T>(x[i]);
}

// As load_channels for row (b, t, h) of a tensor whose type is known at run time only (g).
template <int N>
__device__ __forceinline__ void load_any_channels(float (&x)[N], const TokenTensor& tensor,
                                                  int64_t b, int64_t t, int64_t h, int c,
                                                  int channels) {
  const bool vector = tensor.vector != 0;
  if (tensor.dtype == GDR2_F32)
    return load_channels(x, tensor.row<const float>(b, t, h), c, channels, vector);
  if (tensor.dtype == GDR2_BF16)
    return load_channels(x, tensor.row<const Bf16>(b, t, h), c, channels, vector);
  load_channels(x, tensor.row<const Fp16>(b, t, h), c, channels, vector);
}

template <int N>
__device__ __forceinline__ void store_any_channels(const TokenTensor& tensor, const float (&x)[N],
                                                   int64_t b, int64_t t, int64_t h, int c,
                                                   int channels) {
  const bool vector = tensor.vector != 0;
  if (tensor.dtype == GDR2_F32)
    return store_channels(tensor.row<float>(b, t, h), x, c, channels, vector);
  if (tensor.dtype == GDR2_BF16)
    return store_channels(tensor.row<Bf16>(b, t, h), x, c, channels, vector);
  store_channels(tensor.row<Fp16>(b, t, h), x, c, channels, vector);
}

// A_log[h] or dt_bias[h, c]; `absent` when the tensor is not given.
__device__ __forceinline__ float load_parameter(const ParameterTensor& p, int64_t h, int64_t c,
                                                float absent) {
  if (p.data == nullptr) return absent;
  const int64_t at = h * p.head + c * p.channel;
  if (p.dtype == GDR2_F32) return static_cast<const float*>(p.data)[at];
  if (p.dtype == GDR2_BF16) return to_float(static_cast<const Bf16*>(p.data)[at]);
  return to_float(static_cast<const Fp16*>(p.data)[at]);
}

__device__ __forceinline__ void store_parameter(const ParameterTensor& p, int64_t h, int64_t c,
                                                float x) {
  const int64_t at = h * p.head + c * p.channel;
  if (p.dtype == GDR2_F32) {
    static_cast<float*>(p.data)[at] = x;
  } else if (p.dtype == GDR2_BF16) {
    static_cast<Bf16*>(p.data)[at] = from_float<Bf16>(x);
  } else {
    static_cast<Fp16*>(p.data)[at] = from_float<Fp16>(x);
  }
}

}  // namespace gdr2::cuda
