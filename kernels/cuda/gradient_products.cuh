// SPDX-License-Identifier: Apache-2.0
// The five products over value columns (docs/MATH.md, chunk backward), for 64 channels and all
// value heads of a group: dAqk = s tril(dO R^T), dT = -stril(P R^T), dQg = s dO S^T, dEbar = -P
// S^T, dKt = R dS^T; beside them rowsum(dS * S). A warp owns a 16-row block and half of the 64
// columns.
#pragma once

#include "kernels/cuda/chunk_tile.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/gradient_memory.cuh"

namespace gdr2::cuda::gradients {

constexpr int kWarpTiles = 2;  // 16-column tiles a warp

__device__ __forceinline__ int row_block() { return warp_index() / 2; }
__device__ __forceinline__ int column_tile(int j) { return warp_index() % 2 * kWarpTiles + j; }

struct Sums {
  Accumulator dq[kWarpTiles], de[kWarpTiles], dk[kWarpTiles];  // dQg, dEbar, dKt
  float state_product[kWarpTiles][2];  // rows l/4 and l/4 + 8 of the tile's channels
};

struct Scores {
  Accumulator dA[kWarpTiles], dT[kWarpTiles];
};

__device__ __forceinline__ void clear(Sums& sums, Scores& scores) {
#pragma unroll
  for (int j = 0; j < kWarpTiles; ++j) {
    cuda::clear(sums.dq[j]);
    cuda::clear(sums.de[j]);
    cuda::clear(sums.dk[j]);
    cuda::clear(scores.dA[j]);
    cuda::clear(scores.dT[j]);
    sums.state_product[j][0] = sums.state_product[j][1] = 0.0f;
  }
}

// sum over the tile's columns of a * b, for its rows l/4 and l/4 + 8; this lane's share.
template <class Operand>
__device__ __forceinline__ void add_row_products(float (&sum)[2], const RightFragment<Operand>& a,
                                                 const RightFragment<Operand>& b) {
  const Accumulator x = to_accumulator(a), y = to_accumulator(b);
#pragma unroll
  for (int e = 0; e < 8; ++e) sum[e / 2 % 2] = fma_(x.x[e], y.x[e], sum[e / 2 % 2]);
}

template <class P>
__device__ __forceinline__ void add_products(Sums& sums, Scores& scores,
                                             const typename Shared<P>::Operands& from,
                                             bool with_scores) {
  const int m = row_block();
#pragma unroll 2
  for (int v = 0; v < kChunk; v += kTile) {
    const auto d_o = tile_fragment(from.d_o, m * kTile, v);
    const auto pr = tile_fragment_transposed(from.p, v, m * kTile);
    const auto r = tile_fragment_transposed(from.r, v, m * kTile);
#pragma unroll
    for (int j = 0; j < kWarpTiles; ++j) {
      const int column = column_tile(j) * kTile;
      const auto s = right_tile_transposed(from.s, v, column),
                 ds = right_tile_transposed(from.ds, v, column);
      multiply<P>(sums.dq[j], d_o, s);
      multiply<P>(sums.de[j], pr, s);
      multiply<P>(sums.dk[j], r, ds);
      if (v / kTile == m) add_row_products(sums.state_product[j], s, ds);
      if (with_scores && column_tile(j) <= m) {
        const auto r_right = right_tile_transposed(from.r, v, column);
        multiply<P>(scores.dA[j], d_o, r_right);
        multiply<P>(scores.dT[j], pr, r_right);
      }
    }
  }
}

// Signs and scale, and where the next stages look for them.
template <class P>
__device__ __forceinline__ void store_scores(Shared<P>& shared, const Scores& scores, float scale) {
  const int m = row_block();
#pragma unroll
  for (int j = 0; j < kWarpTiles; ++j) {
    const int n = column_tile(j);
    if (n > m) continue;
    Accumulator dA, dT;
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      dA.x[e] = scale * scores.dA[j].x[e];
      dT.x[e] = -scores.dT[j].x[e];
    }
    if (n < m) {
      store(shared.dA[pair_index(m, n)], kTile, dA);
      store(shared.dT[pair_index(m, n)], kTile, dT);
    } else {
      store(&shared.dA_diagonal[m][0][0], kTile, dA);
      store(&shared.dT_diagonal[m][0][0], kTile, dT);
    }
  }
}

__device__ __forceinline__ void apply_signs(Sums& sums, float scale) {
#pragma unroll
  for (int j = 0; j < kWarpTiles; ++j)
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      sums.dq[j].x[e] *= scale;
      sums.de[j].x[e] = -sums.de[j].x[e];
    }
}

// This warp's part of rowsum(dS * S): one sum a channel.
template <class P>
__device__ __forceinline__ void store_state_product(Shared<P>& shared, const Sums& sums) {
#pragma unroll
  for (int j = 0; j < kWarpTiles; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = warp_sum<4>(sums.state_product[j][half]);
      if (lane_index() % 4 == 0)
        shared.state_product[row_block()][column_tile(j) * kTile + half * 8 + lane_index() / 4] =
            sum;
    }
}

}  // namespace gdr2::cuda::gradients
