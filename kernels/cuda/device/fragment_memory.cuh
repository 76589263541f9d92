// SPDX-License-Identifier: Apache-2.0
// Between fragments and row-major matrices in memory. `load` takes a 16 x 16 tile as it is stored
// (a left operand A from [m][k], a right operand Bt from [n][k]), `load_transposed` takes its
// transpose (A from [k][m], Bt from [k][n]). 16-bit loads use ldmatrix, so they read shared
// memory only and every row of the tile is 16-byte aligned; `load_global` reads any memory.
#pragma once

#include "kernels/cuda/device/fragment.cuh"

namespace gdr2::cuda {

// Four 8 x 8 matrices of 16-bit numbers; lane l gives the address of row l % 8 of matrix l / 8.
template <bool Transposed>
__device__ __forceinline__ void load_matrices(uint32_t (&pair)[4], const void* row) {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::load_matrices(pair, row, Transposed);
#else
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (Transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(pair[0]), "=r"(pair[1]), "=r"(pair[2]), "=r"(pair[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(pair[0]), "=r"(pair[1]), "=r"(pair[2]), "=r"(pair[3])
                 : "r"(address)
                 : "memory");
  }
#endif
}

// The transposes of four 8 x 8 matrices that lanes hold as load_matrices<false> hands them out; lane
// l gives the address for row l % 8 of matrix l / 8's transpose. Hopper only.
__device__ __forceinline__ void store_matrices_transposed(void* row, const uint32_t (&pair)[4]) {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::store_matrices_transposed(row, pair);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
  const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   address),
               "r"(pair[0]), "r"(pair[1]), "r"(pair[2]), "r"(pair[3])
               : "memory");
#endif
}

template <class Operand>
__device__ __forceinline__ Fragment<Operand> load(const Operand* tile, int ld) {
  const int lane = lane_index();
  Fragment<Operand> f;
  load_matrices<false>(f.pair, tile + (lane % 16) * ld + lane / 16 * 8);
  return f;
}
template <>
__device__ __forceinline__ Fragment<float> load<float>(const float* tile, int ld) {
  Fragment<float> f;
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const auto pair =
        *reinterpret_cast<const Pack<float, 2>*>(tile + tile_row(i) * ld + tile_col(i));
    f.x[i] = pair[0];
    f.x[i + 1] = pair[1];
  }
  return f;
}

template <class Operand>
__device__ __forceinline__ Fragment<Operand> load_transposed(const Operand* tile, int ld) {
  const int lane = lane_index();
  Fragment<Operand> f;
  load_matrices<true>(f.pair, tile + (lane % 8 + lane / 16 * 8) * ld + lane / 8 % 2 * 8);
  return f;
}
template <>
__device__ __forceinline__ Fragment<float> load_transposed<float>(const float* tile, int ld) {
  Fragment<float> f;
#pragma unroll
  for (int i = 0; i < 8; ++i) f.x[i] = tile[tile_col(i) * ld + tile_row(i)];
  return f;
}

// As `load`, from global memory (rows 4-byte aligned for 16-bit types, 8-byte for fp32).
template <class Operand>
__device__ __forceinline__ Fragment<Operand> load_global(const Operand* tile, int64_t ld) {
  Fragment<Operand> f;
#pragma unroll
  for (int p = 0; p < 4; ++p)
    f.pair[p] = *reinterpret_cast<const uint32_t*>(tile + tile_row(2 * p) * ld + tile_col(2 * p));
  return f;
}
template <>
__device__ __forceinline__ Fragment<float> load_global<float>(const float* tile, int64_t ld) {
  Fragment<float> f;
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const auto pair =
        *reinterpret_cast<const Pack<float, 2>*>(tile + tile_row(i) * ld + tile_col(i));
    f.x[i] = pair[0];
    f.x[i + 1] = pair[1];
  }
  return f;
}

// Writes the tile, rounded to T, to shared or global memory (rows aligned to two elements).
template <class T>
__device__ __forceinline__ void store(T* tile, int64_t ld, const Accumulator& c) {
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    T* target = tile + tile_row(i) * ld + tile_col(i);
    if constexpr (sizeof(T) == 2) {
      *reinterpret_cast<uint32_t*>(target) = pack2<T>(c.x[i], c.x[i + 1]);
    } else {
      *reinterpret_cast<Pack<float, 2>*>(target) = {{c.x[i], c.x[i + 1]}};
    }
  }
}

// Writes the transpose: tile[col][row].
template <class T>
__device__ __forceinline__ void store_transposed(T* tile, int64_t ld, const Accumulator& c) {
#pragma unroll
  for (int i = 0; i < 8; ++i) tile[tile_col(i) * ld + tile_row(i)] = from_float<T>(c.x[i]);
}

// Reads a tile into an accumulator (rows aligned to two elements), any memory.
template <class T>
__device__ __forceinline__ Accumulator load_accumulator(const T* tile, int64_t ld) {
  return to_accumulator<T>(load_global<T>(tile, ld));
}

}  // namespace gdr2::cuda
