// SPDX-License-Identifier: Apache-2.0
// Between a warp's transposed tiles [16 value columns, channels or tokens] and strided fp32 tensors: states
// [K, V] under either layout and exported stages [rows, V]. Absent tensors read as zeros and are not written.
#pragma once

#include "kernels/cuda/device/fragment_memory.cuh"
#include "kernels/cuda/intermediates.hpp"

namespace gdr2::cuda {

// One tile of S^T: 16 value columns from `column` by 16 channels from `channel`; zero past V and K.
__device__ __forceinline__ Accumulator load_state_tile(const StateTensor& state, int64_t n, int64_t hv, int column, int channel, int V, int K) {
  Accumulator tile;
  clear(tile);
  if (state.data == nullptr) return tile;
  const float* matrix = state.matrix(n, hv);
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const int v = column + tile_row(e), c = channel + tile_col(e);
    if (v < V && c < K) tile.x[e] = matrix[c * state.k + v * state.v];
  }
  return tile;
}

__device__ __forceinline__ void store_state_tile(const StateTensor& state, const Accumulator& tile, int64_t n, int64_t hv, int column,
                                                 int channel, int V, int K) {
  if (state.data == nullptr) return;
  float* matrix = state.matrix(n, hv);
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const int v = column + tile_row(e), c = channel + tile_col(e);
    if (v < V && c < K) matrix[c * state.k + v * state.v] = tile.x[e];
  }
}

// tiles[k] = S^T (value columns from `column`, channels from 16 k); zero past V and K.
template <int Tiles>
__device__ __forceinline__ void load_state(Accumulator (&tiles)[Tiles], const StateTensor& state, int64_t n, int64_t hv,
                                           int column, int V, int K) {
  const float* matrix = state.data == nullptr ? nullptr : state.matrix(n, hv);
#pragma unroll
  for (int k = 0; k < Tiles; ++k)
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const int v = column + tile_row(e), c = k * kTile + tile_col(e);
      tiles[k].x[e] = matrix != nullptr && v < V && c < K ? matrix[c * state.k + v * state.v] : 0.0f;
    }
}

template <int Tiles>
__device__ __forceinline__ void store_state(const StateTensor& state, const Accumulator (&tiles)[Tiles], int64_t n, int64_t hv,
                                            int column, int V, int K) {
  if (state.data == nullptr) return;
  float* matrix = state.matrix(n, hv);
#pragma unroll
  for (int k = 0; k < Tiles; ++k)
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const int v = column + tile_row(e), c = k * kTile + tile_col(e);
      if (v < V && c < K) matrix[c * state.k + v * state.v] = tiles[k].x[e];
    }
}

// Writes the tile [16 value columns from `column`, 16 stage rows from `row`] to the stage [rows, V] of a chunk and head.
__device__ __forceinline__ void export_transposed(const StageTensor& stage, int64_t chunk, int64_t head, int column, int row,
                                                  int V, int rows, const Accumulator& tile) {
  if (stage.data == nullptr) return;
  float* matrix = stage.at(chunk, head);
  const int64_t row_stride = not_hoisted(stage.row), column_stride = not_hoisted(stage.column);
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const int v = column + tile_row(e), r = row + tile_col(e);
    if (v < V && r < rows) matrix[r * row_stride + v * column_stride] = tile.x[e];
  }
}

}  // namespace gdr2::cuda
