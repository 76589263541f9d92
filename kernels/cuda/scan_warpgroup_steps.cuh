// SPDX-License-Identifier: Apache-2.0
// The warpgroup scan's arithmetic beside the products. Results in registers are [token or channel,
// column]; as operands of the next product they are stored transposed.
#pragma once

#include "kernels/cuda/device/pair.cuh"
#include "kernels/cuda/scan_warpgroup_loads.cuh"

namespace gdr2::cuda::scan {

// The first row of this warp's part of a warpgroup's product.
__device__ __forceinline__ int row_of_warp() { return warp_index() % 4 * kTile; }

// The transpose of 16 rows from `row` on and a strip of columns to an operand [column, row].
template <class Operand>
__device__ __forceinline__ void publish_tile(Operand* operand, const Fragment<Operand>& tile,
                                             int row, int strip, int lane) {
  store_matrices_transposed(
      operand +
          chunk_tile_at<Operand>(strip * kTile + lane / 16 * 8 + lane % 8, row + lane / 8 % 2 * 8),
      tile.pair);
}

// This warp's 16 rows likewise.
template <class S>
__device__ __forceinline__ void publish_operand(typename S::Operand* operand,
                                                const Accumulator (&rows)[S::kStrips]) {
  using Operand = typename S::Operand;
  const int lane = fresh_lane_index();
#pragma unroll
  for (int s = 0; s < S::kStrips; ++s)
    publish_tile(operand, to_operand<Operand>(rows[s]), row_of_warp(), s, lane);
}

// Z^T = (w v)^T of this warp's 16 tokens as operand, and what rounding took from it.
template <class S>
__device__ __forceinline__ void publish_targets(WarpgroupShared<S>& shared,
                                                const typename WarpgroupShared<S>::Values& values) {
  using Operand = typename S::Operand;
  const int lane = fresh_lane_index(), row = row_of_warp();
  const int first = value_at<S>(row + lane / 4, 0) + 2 * (lane % 4);
#pragma unroll 2
  for (int s = 0; s < S::kStrips; ++s) {
    Fragment<Operand> z, rest;
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // rows of value_at 8 apart are permuted alike
      const int at = (first ^ (s * kTile + i / 2 * 8)) + i % 2 * 8 * S::kColumns;
      const uint32_t v = *reinterpret_cast<const uint32_t*>(values.v + at),
                     w = *reinterpret_cast<const uint32_t*>(values.w + at);
      z.pair[i] = multiply_pairs<Operand>(w, v);
      rest.pair[i] = rest_of_product<Operand>(w, v, z.pair[i]);
    }
    publish_tile(shared.z, z, row, s, lane);
    publish_tile(shared.z_rest, rest, row, s, lane);
  }
}

// This warp's 16 tokens of o, for the carriers.
template <class S>
__device__ __forceinline__ void publish_output(typename S::Operand* o,
                                               const Accumulator (&sums)[S::kStrips], float scale) {
  const int lane = fresh_lane_index(), row = row_of_warp();
#pragma unroll
  for (int s = 0; s < S::kStrips; ++s)
#pragma unroll
    for (int i = 0; i < 8; i += 2)
      *reinterpret_cast<uint32_t*>(
          o + value_at<S>(row + tile_row(i, lane), s * kTile + tile_col(i, lane))) =
          pack2<typename S::Operand>(scale * sums[s].x[i], scale * sums[s].x[i + 1]);
}

}  // namespace gdr2::cuda::scan
