// SPDX-License-Identifier: Apache-2.0
// The scan's arithmetic, a warp's part of each product. States and rows are held transposed [column
// of V, channel or token], so that results in registers have the layout of the operands that they
// become:
//
//     R^T = Z^T A^T - S^T Y^T    O = s (Qg S + Aqk R)    S^T <- S^T gamma_C + R^T Kt
//
// Between the products S, Z and R pass through shared memory, rounded to the operand type there and
// nowhere else. A sum over channels or tokens runs through one accumulator in ascending order,
// whoever computes it.
#pragma once

#include "kernels/cuda/chunk_tile.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/scan_loads.cuh"

namespace gdr2::cuda::scan {

// x += S^T Y^T for 16 tokens, over a block of 64 channels.
template <class S>
__device__ __forceinline__ void erase(Accumulator (&x)[S::kStrips],
                                      const typename S::Operand* state,
                                      const typename S::Operand* y, int token) {
  const int lane = fresh_lane_index();
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile) {
    const auto e = right_fragment(y, token, k, lane);
#pragma unroll
    for (int s = 0; s < S::kStrips; ++s)
      multiply_rounded<typename S::P>(x[s], tile_fragment(state, s * kTile, k, lane), e);
  }
}

// o += Qg S for 16 tokens, over a block of 64 channels.
template <class S>
__device__ __forceinline__ void read(Accumulator (&o)[S::kStrips], const typename S::Operand* state,
                                     const typename S::Operand* qg, int token) {
  const int lane = fresh_lane_index();
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile) {
    const auto q = tile_fragment(qg, token, k, lane);
#pragma unroll
    for (int s = 0; s < S::kStrips; ++s)
      multiply_rounded<typename S::P>(o[s], q, right_fragment(state, s * kTile, k, lane));
  }
}

// Z^T = (w v)^T for 16 tokens, as operand for everyone.
template <class S>
__device__ __forceinline__ void store_targets(Shared<S>& shared, int index, int token) {
  const int lane = fresh_lane_index();
  const auto& values = shared.values[index % S::kValueBuffers];
#pragma unroll
  for (int s = 0; s < S::kStrips; ++s) {
    const Accumulator v =
        to_accumulator(tile_fragment_transposed(values.v, token, s * kTile, lane));
    const Accumulator w =
        to_accumulator(tile_fragment_transposed(values.w, token, s * kTile, lane));
    Accumulator z;
#pragma unroll
    for (int i = 0; i < 8; ++i) z.x[i] = w.x[i] * v.x[i];
    store_tile_fragment(shared.z, s * kTile, token,
                        rounded<typename S::P>(to_operand<typename S::Operand>(z)), lane);
  }
}

// r = Z^T A^T - r for 16 tokens; A is lower triangular.
template <class S>
__device__ __forceinline__ void solve(Accumulator (&r)[S::kStrips], const typename S::Operand* z,
                                      const typename S::Operand* a, int token) {
  const int lane = fresh_lane_index();
#pragma unroll
  for (int s = 0; s < S::kStrips; ++s)
#pragma unroll
    for (int i = 0; i < 8; ++i) r[s].x[i] = -r[s].x[i];
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile) {
    if (k > token) break;
    const auto row = right_fragment(a, token, k, lane);
#pragma unroll
    for (int s = 0; s < S::kStrips; ++s)
      multiply_rounded<typename S::P>(r[s], tile_fragment(z, s * kTile, k, lane), row);
  }
}

// o += Aqk R for 16 tokens; Aqk is lower triangular.
template <class S>
__device__ __forceinline__ void read_rows(Accumulator (&o)[S::kStrips],
                                          const typename S::Operand* r,
                                          const typename S::Operand* aqk, int token) {
  const int lane = fresh_lane_index();
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile) {
    if (k > token) break;
    const auto row = tile_fragment(aqk, token, k, lane);
#pragma unroll
    for (int s = 0; s < S::kStrips; ++s)
      multiply_rounded<typename S::P>(o[s], row, right_fragment(r, s * kTile, k, lane));
  }
}

// s = s gamma_C + R^T Kt for 16 channels and some strips from `column` on.
template <class S, int Strips>
__device__ __forceinline__ void write(Accumulator (&state)[Strips], const typename S::Operand* r,
                                      const typename S::Operand* kt, const float* decay,
                                      int channel, int column) {
  const int lane = fresh_lane_index();
#pragma unroll
  for (int s = 0; s < Strips; ++s)
#pragma unroll
    for (int i = 0; i < 8; ++i) state[s].x[i] *= decay[tile_col(i, lane)];
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile) {
    const auto key = right_fragment_transposed(kt, k, channel, lane);
#pragma unroll
    for (int s = 0; s < Strips; ++s)
      multiply_rounded<typename S::P>(state[s], tile_fragment(r, column + s * kTile, k, lane), key);
  }
}

// o = scale O for 16 tokens from `row` on, `rows` of them valid; `column` is the first strip's.
template <class S>
__device__ __forceinline__ void store_output(typename S::Operand* row, int64_t stride,
                                             const Accumulator (&o)[S::kStrips], float scale,
                                             int rows, int column, int V, bool pairs) {
  using T = typename S::Operand;
  const int lane = fresh_lane_index(), first = tile_row(0, lane), v = column + tile_col(0, lane);
  T* target = row + first * stride + v;
#pragma unroll
  for (int lower = 0; lower < 2; ++lower, target += 8 * stride) {
    if (first + 8 * lower >= rows) return;
#pragma unroll
    for (int half = 0; half < 2 * S::kStrips; ++half) {
      const float* x = o[half / 2].x + 2 * lower + 4 * (half % 2);
      const Pack<T, 2> pair = {{from_float<T>(scale * x[0]), from_float<T>(scale * x[1])}};
      if (pairs) {
        if (v + 8 * half < V) *reinterpret_cast<Pack<T, 2>*>(target + 8 * half) = pair;
      } else {
        if (v + 8 * half < V) target[8 * half] = pair[0];
        if (v + 8 * half + 1 < V) target[8 * half + 1] = pair[1];
      }
    }
  }
}

// Copies rows of a shared operand [columns, 64] to the chunk tile in memory that they are part of.
template <class S>
__device__ __forceinline__ void keep_columns(typename S::Operand* tile,
                                             const typename S::Operand* columns, int first_column) {
  constexpr int kUnit = 16 / sizeof(typename S::Operand);
  auto* target = tile + first_column % kChunk * kChunk;
#pragma unroll
  for (int i = fresh_thread_index() * kUnit; i < S::kColumns * kChunk; i += kThreads * kUnit)
    store_streaming_16(target + i, *reinterpret_cast<const Pack16*>(columns + i));
}

}  // namespace gdr2::cuda::scan
