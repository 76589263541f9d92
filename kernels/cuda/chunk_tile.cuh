// SPDX-License-Identifier: Apache-2.0
// Fragments of chunk tiles (intermediates.hpp): 16 x 16 pieces of a 64 x 64 tile whose 16-byte
// units are permuted by the row. As fragment_memory.cuh does for plain rows: `tile_fragment` takes
// the piece as it is stored (a left operand A from [m][k], a right operand Bt from [n][k]),
// `tile_fragment_transposed` its transpose (A from [k][m], Bt from [k][n]). Shared memory only; row
// and column are multiples of 16. `right_fragment` and `right_fragment_transposed` give the same
// fragments; as right operands they go to the tensor cores without moves between registers, since
// ldmatrix hands over the quadrants in the order in which B wants them.
#pragma once

#include "kernels/cuda/device/fragment_memory.cuh"
#include "kernels/cuda/intermediates.hpp"

namespace gdr2::cuda {

// chunk_tile_at is linear in the exclusive-or sense: a column offset that is a multiple of 8 (fp32:
// of 4) flips bits of the element's offset within its row.
//
// For 16-bit tiles: where a lane's row for ldmatrix starts in the piece at (0, 0), quadrants taken
// column by column or row by row. The piece at column c has it at this offset ^ c: c's bits select
// units.
__device__ __forceinline__ int offset_by_columns(int lane) {
  return lane % 16 * kChunk + ((lane / 16) ^ (lane % 8)) * 8;
}
__device__ __forceinline__ int offset_by_rows(int lane) {
  return (lane % 8 + lane / 16 * 8) * kChunk + ((lane / 8 % 2) ^ (lane % 8)) * 8;
}

template <class Operand>
__device__ __forceinline__ Fragment<Operand> tile_fragment(const Operand* tile, int row, int column,
                                                           int lane = lane_index()) {
  Fragment<Operand> f;
  load_matrices<false>(f.pair, tile + row * kChunk + (offset_by_columns(lane) ^ column));
  return f;
}
template <>
__device__ __forceinline__ Fragment<float> tile_fragment<float>(const float* tile, int row,
                                                                int column, int lane) {
  Fragment<float> f;
  const float* at = tile + row * kChunk;
  const int offset = chunk_tile_at<float>(tile_row(0, lane), tile_col(0, lane));
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const auto pair = *reinterpret_cast<const Pack<float, 2>*>(at + i / 2 % 2 * 8 * kChunk +
                                                               (offset ^ (column + i / 4 * 8)));
    f.x[i] = pair[0];
    f.x[i + 1] = pair[1];
  }
  return f;
}

template <class Operand>
__device__ __forceinline__ Fragment<Operand> tile_fragment_transposed(const Operand* tile, int row,
                                                                      int column,
                                                                      int lane = lane_index()) {
  Fragment<Operand> f;
  load_matrices<true>(f.pair, tile + row * kChunk + (offset_by_rows(lane) ^ column));
  return f;
}
template <>
__device__ __forceinline__ Fragment<float> tile_fragment_transposed<float>(const float* tile,
                                                                           int row, int column,
                                                                           int lane) {
  Fragment<float> f;
  const float* at = tile + row * kChunk;
#pragma unroll
  for (int odd = 0; odd < 2; ++odd) {
    const int offset = chunk_tile_at<float>(tile_col(odd, lane), tile_row(0, lane));
#pragma unroll
    for (int i = odd; i < 8; i += 2)
      f.x[i] = at[i / 4 * 8 * kChunk + (offset ^ (column + i / 2 % 2 * 8))];
  }
  return f;
}

// Quadrants upper left, upper right, lower left, lower right.
template <bool Transposed, class Operand>
__device__ __forceinline__ Fragment<Operand> load_right_fragment(const Operand* row) {
  uint32_t quadrant[4];
  load_matrices<Transposed>(quadrant, row);
  return {{quadrant[0], quadrant[2], quadrant[1], quadrant[3]}};
}

template <class Operand>
__device__ __forceinline__ Fragment<Operand> right_fragment(const Operand* tile, int row,
                                                            int column, int lane = lane_index()) {
  return load_right_fragment<false>(tile + row * kChunk + (offset_by_rows(lane) ^ column));
}
template <>
__device__ __forceinline__ Fragment<float> right_fragment<float>(const float* tile, int row,
                                                                 int column, int lane) {
  return tile_fragment(tile, row, column, lane);
}

template <class Operand>
__device__ __forceinline__ Fragment<Operand> right_fragment_transposed(const Operand* tile, int row,
                                                                       int column,
                                                                       int lane = lane_index()) {
  return load_right_fragment<true>(tile + row * kChunk + (offset_by_columns(lane) ^ column));
}
template <>
__device__ __forceinline__ Fragment<float> right_fragment_transposed<float>(const float* tile,
                                                                            int row, int column,
                                                                            int lane) {
  return tile_fragment_transposed(tile, row, column, lane);
}

// Rows row .. row + 7 of `upper` over the same rows of `lower`, as stored; row is a multiple of 8.
template <class Operand>
__device__ __forceinline__ Fragment<Operand> tile_fragment_stacked(const Operand* upper,
                                                                   const Operand* lower, int row,
                                                                   int column, int lane) {
  Fragment<Operand> f;
  load_matrices<false>(f.pair, (lane % 16 < 8 ? upper : lower) +
                                   (row + lane % 8 - lane % 16) * kChunk +
                                   (offset_by_columns(lane) ^ column));
  return f;
}
template <>
__device__ __forceinline__ Fragment<float> tile_fragment_stacked<float>(const float* upper,
                                                                        const float* lower, int row,
                                                                        int column, int lane) {
  Fragment<float> f;
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const auto* tile = i / 2 % 2 == 0 ? upper : lower;
    const auto pair = *reinterpret_cast<const Pack<float, 2>*>(
        tile + chunk_tile_at<float>(row + tile_row(0, lane), column + tile_col(i, lane)));
    f.x[i] = pair[0];
    f.x[i + 1] = pair[1];
  }
  return f;
}

// As right operand Bt [n][k]: the 8 rows at `upper` over the 8 rows at `lower`, each the start of a
// row of a 16-bit chunk tile whose number is a multiple of 8.
template <class Operand>
__device__ __forceinline__ RightFragment<Operand> right_tile_stacked(const Operand* upper,
                                                                     const Operand* lower,
                                                                     int column, int lane) {
  RightFragment<Operand> f;
  load_matrices<false>(f.pair, (lane < 16 ? upper : lower) +
                                   chunk_tile_at<Operand>(lane % 8, column + lane / 8 % 2 * 8));
  return f;
}

// The piece as right operand, stored as Bt [n][k], and stored as its transpose [k][n].
template <class Operand>
__device__ __forceinline__ RightFragment<Operand> right_tile(const Operand* tile, int row,
                                                             int column) {
  if constexpr (sizeof(Operand) == 4) {
    return {tile_fragment(tile, row, column)};
  } else {
    const int lane = lane_index();
    RightFragment<Operand> f;
    load_matrices<false>(f.pair, tile + chunk_tile_at<Operand>(row + lane % 8 + lane / 16 * 8,
                                                               column + lane / 8 % 2 * 8));
    return f;
  }
}
template <class Operand>
__device__ __forceinline__ RightFragment<Operand> right_tile_transposed(const Operand* tile,
                                                                        int row, int column) {
  if constexpr (sizeof(Operand) == 4) {
    return {tile_fragment_transposed(tile, row, column)};
  } else {
    const int lane = lane_index();
    RightFragment<Operand> f;
    load_matrices<true>(f.pair,
                        tile + chunk_tile_at<Operand>(row + lane % 16, column + lane / 16 * 8));
    return f;
  }
}

// Writes the operand's piece, shared or global memory.
template <class Operand>
__device__ __forceinline__ void store_tile_fragment(Operand* tile, int row, int column,
                                                    const Fragment<Operand>& f,
                                                    int lane = lane_index()) {
  Operand* at = tile + row * kChunk;
  const int offset = lane / 4 * kChunk + lane / 4 * 8 + lane % 4 * 2;
#pragma unroll
  for (int p = 0; p < 4; ++p)
    *reinterpret_cast<uint32_t*>(at + p % 2 * 8 * kChunk + (offset ^ (column + p / 2 * 8))) =
        f.pair[p];
}
template <>
__device__ __forceinline__ void store_tile_fragment<float>(float* tile, int row, int column,
                                                           const Fragment<float>& f, int lane) {
  float* at = tile + row * kChunk;
  const int offset = chunk_tile_at<float>(tile_row(0, lane), tile_col(0, lane));
#pragma unroll
  for (int i = 0; i < 8; i += 2)
    *reinterpret_cast<Pack<float, 2>*>(at + i / 2 % 2 * 8 * kChunk +
                                       (offset ^ (column + i / 4 * 8))) = {{f.x[i], f.x[i + 1]}};
}

}  // namespace gdr2::cuda
