// SPDX-License-Identifier: Apache-2.0
// Between a warp's transposed tiles [16 value columns, channels or tokens] and strided fp32 tensors: states
// [K, V] under either layout and exported stages [rows, V]. Absent tensors read as zeros and are not written.
#pragma once

#include "kernels/cuda/device/fragment_memory.cuh"
#include "kernels/cuda/intermediates.hpp"

namespace gdr2::cuda {

// A tensor with the roles of its rows and columns exchanged.
__device__ __forceinline__ StateTensor transposed(const StateTensor& s) {
  return {s.data, s.sequence, s.head, s.v, s.k};
}
__device__ __forceinline__ StageTensor transposed(const StageTensor& s) {
  return {s.data, s.chunk, s.head, s.column, s.row};
}

// One tile of S^T: 16 value columns from `column` by 16 channels from `channel`; zero past V and K.
__device__ __forceinline__ Accumulator load_state_tile(const StateTensor& state, int64_t n,
                                                       int64_t hv, int column, int channel, int V,
                                                       int K) {
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

__device__ __forceinline__ void store_state_tile(const StateTensor& state, const Accumulator& tile,
                                                 int64_t n, int64_t hv, int column, int channel,
                                                 int V, int K) {
  if (state.data == nullptr) return;
  float* matrix = state.matrix(n, hv);
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    const int v = column + tile_row(e), c = channel + tile_col(e);
    if (v < V && c < K) matrix[c * state.k + v * state.v] = tile.x[e];
  }
}

// Writes the tile [16 value columns from `column`, 16 stage rows from `row`] to the stage [rows, V] of a chunk and head.
__device__ __forceinline__ void export_transposed(const StageTensor& stage, int64_t chunk,
                                                  int64_t head, int column, int row, int V,
                                                  int rows, const Accumulator& tile) {
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
