// SPDX-License-Identifier: Apache-2.0
// The warpgroup scan's arithmetic beside the products. Results in registers are [token or channel,
// column]; as operands of the next product they are stored transposed.
#pragma once

#include "kernels/cuda/scan_warpgroup_loads.cuh"

namespace gdr2::cuda::scan {

// The first row of this warp's part of a warpgroup's product.
__device__ __forceinline__ int row_of_warp() { return warp_index() % 4 * kTile; }

// The transpose of this warp's 16 rows to an operand [column, row].
template <class S>
__device__ __forceinline__ void publish_operand(typename S::Operand* operand,
                                                const Accumulator (&rows)[S::kStrips]) {
  using Operand = typename S::Operand;
  const int lane = fresh_lane_index();
  const int row = row_of_warp() + lane / 8 % 2 * 8;
#pragma unroll
  for (int s = 0; s < S::kStrips; ++s) {
    const auto pairs = to_operand<Operand>(rows[s]);
    store_matrices_transposed(
        operand + chunk_tile_at<Operand>(s * kTile + lane / 16 * 8 + lane % 8, row), pairs.pair);
  }
}

// Z = w v of chunk `index`.
template <class S>
__device__ __forceinline__ void load_targets(Accumulator (&z)[S::kStrips],
                                             const WarpgroupShared<S>& shared, int index) {
  using Operand = typename S::Operand;
  const auto& values = shared.values[index % S::kValueBuffers];
  const int lane = fresh_lane_index();
#pragma unroll
  for (int s = 0; s < S::kStrips; ++s)
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      const int at = value_at<S>(row_of_warp() + tile_row(i, lane), s * kTile + tile_col(i, lane));
      const uint32_t v = *reinterpret_cast<const uint32_t*>(values.v + at),
                     w = *reinterpret_cast<const uint32_t*>(values.w + at);
      z[s].x[i] = low_of<Operand>(w) * low_of<Operand>(v);
      z[s].x[i + 1] = high_of<Operand>(w) * high_of<Operand>(v);
    }
}

// x minus what it is as operand.
template <class S>
__device__ __forceinline__ void take_rest(Accumulator (&x)[S::kStrips]) {
  using Operand = typename S::Operand;
#pragma unroll
  for (int s = 0; s < S::kStrips; ++s) {
    const Accumulator operand = to_accumulator<Operand>(to_operand<Operand>(x[s]));
#pragma unroll
    for (int i = 0; i < 8; ++i) x[s].x[i] -= operand.x[i];
  }
}

// This warp's 16 tokens of o, ready to be stored.
template <class S>
struct Output {
  Fragment<typename S::Operand> operands[S::kStrips];

  __device__ __forceinline__ void take(const Accumulator (&sums)[S::kStrips], float scale) {
#pragma unroll
    for (int s = 0; s < S::kStrips; ++s) {
      Accumulator o;
#pragma unroll
      for (int i = 0; i < 8; ++i) o.x[i] = scale * sums[s].x[i];
      operands[s] = to_operand<typename S::Operand>(o);
    }
  }

  // To rows from `row` on, `rows` of them valid; `column` is the CTA's first.
  __device__ __forceinline__ void store(typename S::Operand* row, int64_t stride, int rows,
                                        int column, int V, bool pairs) const {
    using T = typename S::Operand;
    const int lane = fresh_lane_index(), first = tile_row(0, lane), v = column + tile_col(0, lane);
    T* target = row + first * stride + v;
#pragma unroll
    for (int lower = 0; lower < 2; ++lower, target += 8 * stride) {
      if (first + 8 * lower >= rows) return;
#pragma unroll
      for (int half = 0; half < 2 * S::kStrips; ++half) {
        const uint32_t pair = operands[half / 2].pair[lower + 2 * (half % 2)];
        if (pairs) {
          if (v + 8 * half < V) *reinterpret_cast<uint32_t*>(target + 8 * half) = pair;
        } else {
          if (v + 8 * half < V) target[8 * half] = {static_cast<uint16_t>(pair)};
          if (v + 8 * half + 1 < V) target[8 * half + 1] = {static_cast<uint16_t>(pair >> 16)};
        }
      }
    }
  }
};

}  // namespace gdr2::cuda::scan
