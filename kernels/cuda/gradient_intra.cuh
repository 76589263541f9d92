// SPDX-License-Identifier: Apache-2.0
// What tokens of different 16-row blocks, and the states at the chunk's ends, give to dq, de and
// dk.
//
// A decay between two blocks is cut at block borders: from the key's row to the end of its block,
// over whole blocks, from the start of the query's block to its row. Every piece is at most 1 and
// is formed from its own rows only, so nothing overflows, nothing cancels and g = -inf gives exact
// zeros. The whole blocks are passed by a Horner scheme on the sums: scale by a block's decay, add
// its contribution, go on; the state is the first term (for dk: the last chunk border).
#pragma once

#include "kernels/cuda/gradient_products.cuh"

namespace gdr2::cuda::gradients {

__device__ __forceinline__ void scale_columns(Accumulator& c, const float* scale) {
#pragma unroll
  for (int e = 0; e < 8; ++e) c.x[e] *= scale[tile_col(e)];
}

// By column: the sum over the tile's 16 rows of weight * c. Element e of the result belongs to
// column tile_col(e), e in {0, 1, 4, 5}.
__device__ __forceinline__ void add_column_sums(float (&sum)[8], const float* weight,
                                                const Accumulator& c) {
#pragma unroll
  for (int e = 0; e < 8; ++e)
    sum[e & 5] = fma_(weight[tile_row(e) * kLd + tile_col(e)], c.x[e], sum[e & 5]);
}

// Adds over the lanes that share a column.
__device__ __forceinline__ void store_column_sums(float* target, float (&sum)[8]) {
#pragma unroll
  for (int e = 0; e < 8; ++e) {
    if ((e & 2) != 0) continue;
#pragma unroll
    for (int mask = 4; mask < kWarp; mask *= 2) sum[e] += shuffle_xor(sum[e], mask);
    if (lane_index() < 4) target[tile_col(e)] = sum[e];
  }
}

// Factors in fp32 are 16-bit operands in two terms, themselves and what rounding took from them: dT,
// q, e and k. Where a key comes again and again, the few pairs of a row with it are all of its
// gradient, and what rounding does to them does not average out.
template <class P>
constexpr bool kTwoTerms = sizeof(typename P::Operand) == 2;

template <class Tile>
struct Terms {
  Tile value, rest;
};

// Left operand from a 16 x 16 block.
template <class P>
__device__ __forceinline__ Terms<OperandTile<P>> left_terms(const Fragment<float>& block) {
  using Operand = typename P::Operand;
  const Accumulator x = to_accumulator<float>(block);
  Terms<OperandTile<P>> terms{to_operand<Operand>(x), {}};
  if constexpr (kTwoTerms<P>) terms.rest = to_operand<Operand>(rest_of<P>(x));
  return terms;
}

// Right operand [channel, row] from fp32 rows [row, channel].
template <class P>
__device__ __forceinline__ Terms<RightTile<P>> right_terms(const float* rows, int row, int column) {
  using Operand = typename P::Operand;
  const Accumulator x = to_accumulator<float>(load_transposed(rows + row * kLd + column, kLd));
  Terms<RightTile<P>> terms{to_right<Operand>(x), {}};
  if constexpr (kTwoTerms<P>) terms.rest = to_right<Operand>(rest_of<P>(x));
  return terms;
}

template <class P>
__device__ __forceinline__ void multiply_terms(Accumulator& sums, const OperandTile<P>& left,
                                               const Terms<RightTile<P>>& right) {
  if constexpr (kTwoTerms<P>) multiply<P>(sums, left, right.rest);
  multiply<P>(sums, left, right.value);
}
template <class P>
__device__ __forceinline__ void multiply_terms(Accumulator& sums, const Terms<OperandTile<P>>& left,
                                               const Terms<RightTile<P>>& right) {
  if constexpr (kTwoTerms<P>) multiply<P>(sums, left.rest, right.value);
  multiply_terms<P>(sums, left.value, right);
}

// dq and de of row block m: state, blocks 0 .. m-1. On the way, later_rows[m, b] = what comes to
// the rows of block m from before block b, as dg needs it: sum of q dq + e de, decayed from the
// start of block b.
template <class P>
__device__ __forceinline__ void add_earlier_blocks(Shared<P>& shared, Sums& sums, int m) {
  const auto& rows = shared.columns.rows;
#pragma unroll 1
  for (int b = 0; b < m; ++b) {
    const int pair = pair_index(m, b);
    const auto dA = load(shared.dA[pair], kTile);
    const auto dT = left_terms<P>(load(shared.dT[pair], kTile));
#pragma unroll
    for (int j = 0; j < kWarpTiles; ++j) {
      const int column = column_tile(j) * kTile, from = m * kTile * kLd + column;
      float sum[8] = {};
      add_column_sums(sum, rows.q + from, sums.dq[j]);
      add_column_sums(sum, rows.e + from, sums.de[j]);
      store_column_sums(shared.later_rows[pair] + column, sum);
      scale_columns(sums.dq[j], shared.block_decay[b] + column);
      scale_columns(sums.de[j], shared.block_decay[b] + column);
      const auto k = right_terms<P>(rows.k, b * kTile, column);
      multiply_terms<P>(sums.dq[j], dA, k);
      multiply_terms<P>(sums.de[j], dT, k);
    }
  }
}

// dk of row block m: the chunk's last state, blocks 3 .. m+1. earlier_rows[m] = what goes from the
// rows of m to the last state, decayed from the end of block m: sum of k dk.
template <class P>
__device__ __forceinline__ void add_later_blocks(Shared<P>& shared, Sums& sums, int m) {
  const auto& rows = shared.columns.rows;
#pragma unroll
  for (int j = 0; j < kWarpTiles; ++j) {
    const int column = column_tile(j) * kTile;
    float sum[8] = {};
    add_column_sums(sum, rows.k + m * kTile * kLd + column, sums.dk[j]);
    store_column_sums(shared.earlier_rows[m] + column, sum);
  }
#pragma unroll 1
  for (int b = kRowBlocks - 1; b > m; --b) {
    const int pair = pair_index(b, m);
    const auto dA = load_transposed(shared.dA[pair], kTile);
    const auto dT = left_terms<P>(load_transposed(shared.dT[pair], kTile));
#pragma unroll
    for (int j = 0; j < kWarpTiles; ++j) {
      const int column = column_tile(j) * kTile;
      scale_columns(sums.dk[j], shared.block_decay[b] + column);
      multiply_terms<P>(sums.dk[j], dA, right_terms<P>(rows.q, b * kTile, column));
      multiply_terms<P>(sums.dk[j], dT, right_terms<P>(rows.e, b * kTile, column));
    }
  }
}

// In place of the decayed rows.
template <class P>
__device__ __forceinline__ void store_sums(Shared<P>& shared, const Sums& sums) {
  auto& rows = shared.columns.rows;
#pragma unroll
  for (int j = 0; j < kWarpTiles; ++j) {
    const int at = row_block() * kTile * kLd + column_tile(j) * kTile;
    store(rows.q + at, kLd, sums.dq[j]);
    store(rows.e + at, kLd, sums.de[j]);
    store(rows.k + at, kLd, sums.dk[j]);
  }
}

}  // namespace gdr2::cuda::gradients
