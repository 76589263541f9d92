// SPDX-License-Identifier: Apache-2.0
// The scores of a chunk, T_ij = sum_c e_ic k_jc exp(G_ic - G_jc) for i > j and Aqk_ij likewise with
// q for i >= j, in fp32, as matrix products over blocks of 8 rows. The decay is anchored at the
// border before row i's block I:
//
//     J < I:   exp(G_i - G_j) = exp(G_i - B_I) * [ exp(B_I - B_J+1) exp(B_J+1 - G_j) ]
//     J = I:   exp(G_i - G_j) = exp(G_i - B_I) * [ 1 / exp(G_j - B_I) ]        B_I: G at the border
//
// The first factor goes with q and e, the bracket with k, each product rounded once. The anchor
// lies before row i, so row i's bits do not depend on any later row. Every factor is at most one
// but the last bracket: rows of a block down to the first one where it passes what the operand type
// holds (bracket_holds) are products, the others are formed directly, pair by pair, from the decays
// between the two rows. That limit, too, depends on no later row.
#pragma once

#include "kernels/cuda/chunk_tile.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/prep_rows.cuh"

namespace gdr2::cuda {

constexpr int kMatrixLd = kChunk + 4;  // of fp32 64 x 64 matrices in shared memory

template <class P>
__device__ __forceinline__ Pair<float> rounded_pair(const Pair<float>& x) {
  return {{rounded<P>(x[0]), rounded<P>(x[1])}};
}

// Lane l's x[l] of the warp's sum over lanes: 32 sums in 31 exchanges.
template <int Half = kWarp / 2>
__device__ __forceinline__ float sum_by_lane(float (&x)[kWarp], int lane) {
  const bool upper = (lane & Half) != 0;
#pragma unroll
  for (int i = 0; i < Half; ++i) {
    const float keep = upper ? x[i + Half] : x[i], give = upper ? x[i] : x[i + Half];
    x[i] = keep + shuffle_xor(give, Half);
  }
  if constexpr (Half > 1) return sum_by_lane<Half / 2>(x, lane);
  return x[0];
}

// Where the bracket 1 / decay stays in the operand type's range, with k and without. bf16 and tf32
// have fp32's range; fp16 loses bits below 2^-14, which q and e times the decay should not pass by
// much. (|key| <= limit decay is exact.)
template <class P>
__device__ __forceinline__ bool bracket_holds(float decay, float key) {
  constexpr bool kHalf = std::is_same_v<P, Fp16Products>;
  return decay >= (kHalf ? 0x1p-3f : 0x1p-60f) &&
         fabsf(key) <= (kHalf ? 0x1p15f : 0x1p100f) * decay;
}

// The strictly lower triangle of an 8 x 8 block, row by row, is numbered 0 .. 27; the diagonal's
// upper or lower half follows.
constexpr int kInside = kBlockRows * (kBlockRows - 1) / 2;
__host__ __device__ constexpr int number_inside(int i, int j) { return i * (i - 1) / 2 + j; }
__host__ __device__ constexpr int row_inside(int n) {
  return 1 + (n >= 1) + (n >= 3) + (n >= 6) + (n >= 10) + (n >= 15) + (n >= 21);
}

// The block's scores formed directly, nothing rounded.
enum class Scores { kQuery, kErase };

// Scores of q, or of b k, with k inside this warp's block over the slab, below the diagonal, and on
// the diagonal the products of q and k of rows 0 .. 3 (kErase: 4 .. 7). slab.g holds
// DecayWalk::step. Lane l < 28 gets number l, lanes 28 .. the diagonal; norms and the doubling of b
// are left to store_direct_scores.
template <class P, Scores kOf>
__device__ __forceinline__ float scores_inside(const Slab<typename P::Operand>& slab,
                                               ThreadPlace at) {
  constexpr int kDiagonalRow = kOf == Scores::kQuery ? 0 : 4;
  float m[kWarp] = {};
#pragma unroll 1
  for (int channel = at.lane; channel < kSlab; channel += kWarp) {
    float k[kBlockRows], rows[kBlockRows], step[kBlockRows];
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r) {
      const int place = (kBlockRows * at.warp + r) * kSlab + channel;
      k[r] = to_float(slab.k[place]);
      rows[r] = kOf == Scores::kQuery ? to_float(slab.q[place]) : to_float(slab.b[place]) * k[r];
      step[r] = slab.g[place];
      if (r / 4 == kDiagonalRow / 4)
        m[kInside + r % 4] = fma_(kOf == Scores::kQuery ? rows[r] : to_float(slab.q[place]), k[r],
                                  m[kInside + r % 4]);
    }
#pragma unroll
    for (int j = 0; j < kBlockRows; ++j) {
      DecayWalk<P> decay;
      if constexpr (!DecayWalk<P>::kLog) decay.sum_or_product = k[j];
#pragma unroll
      for (int i = j + 1; i < kBlockRows; ++i) {
        decay.pass(step[i]);
        const float decayed = DecayWalk<P>::kLog ? k[j] * decay.value() : decay.value();
        m[number_inside(i, j)] = fma_(rows[i], decayed, m[number_inside(i, j)]);
      }
    }
  }
  return sum_by_lane(m, at.lane);
}

// The rows that lane l's two numbers belong to.
__device__ __forceinline__ int row_of_query(int lane) {
  return lane < kInside ? row_inside(lane) : lane - kInside;
}
__device__ __forceinline__ int row_of_erase(int lane) {
  return lane < kInside ? row_inside(lane) : lane - kInside + 4;
}

// The block pairs (I; 2m, 2m + 1) with 2m < I make 16 tiles of 16 x 16 (q and e rows of I by 16
// columns); a warp does two.
struct BlockPair {
  int row, columns;  // I, m
};
__device__ __forceinline__ BlockPair block_pair(int n, int warp) {
  const int tile = warp + kBlocks * n;
  return {static_cast<int>(0x7777666555443321ull >> (4 * tile) & 15),
          static_cast<int>(0x3210210210101000ull >> (4 * tile) & 15)};
}

// The decay over the blocks between the columns of a warp's pair and its row: from block 2m (far)
// and from 2m + 1 (near).
struct alignas(16) PairDecays {
  float far[kSlab], near[kSlab];
};

// By the warp that uses them. total: exp of the sum of g over each block.
__device__ __forceinline__ void store_pair_decays(PairDecays& decays, const float* total,
                                                  BlockPair pair, int lane) {
  const int channel = 2 * lane;
  Pair<float> near{{1.0f, 1.0f}}, far{{1.0f, 1.0f}};
#pragma unroll
  for (int block = 1; block < kBlocks - 1; ++block) {
    const auto t = *reinterpret_cast<const Pair<float>*>(total + block * kSlab + channel);
    const bool between = block > 2 * pair.columns && block < pair.row;
    if (between) far = product(far, t);
    if (between && block > 2 * pair.columns + 1) near = product(near, t);
  }
  *reinterpret_cast<Pair<float>*>(decays.near + channel) = near;
  *reinterpret_cast<Pair<float>*>(decays.far + channel) = far;
}

// The right operand of a pair for the 16 channels at `channel`, in operand_column's order: k decayed to the border before
// block I. In the pair (2m+1; 2m, 2m+1) the second half is not used.
template <class Operand>
__device__ __forceinline__ Fragment<Operand> decayed_columns(const float* k,
                                                             const PairDecays& decays,
                                                             BlockPair pair, int channel,
                                                             int lane) {
  const float* rows = k + kTile * pair.columns * kChunk;
  const int offset = chunk_tile_at<float>(tile_row(0, lane), lane % 4 * 4) ^ channel;
  Accumulator x;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const auto key = load_four(rows + half * 8 * kChunk + offset),
               decay = load_four((half == 0 ? decays.far : decays.near) + channel + lane % 4 * 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) x.x[2 * half + i % 2 + i / 2 * 4] = key[i] * decay[i];
  }
  return to_operand<Operand>(x);
}

// This warp's pair n, plus the slab's part.
template <class P>
__device__ __forceinline__ void add_scores_between(Accumulator& sum,
                                                   const Slab<typename P::Operand>& slab,
                                                   const PairDecays& decays, int n,
                                                   ThreadPlace at) {
  const BlockPair pair = block_pair(n, at.warp);
#pragma unroll
  for (int channel = 0; channel < kSlab; channel += kTile) {
    const auto left =
        tile_fragment_stacked(slab.q, slab.b, kBlockRows * pair.row, channel, at.lane);
    multiply<P>(sum, left,
                decayed_columns<typename P::Operand>(slab.g, decays, pair, channel, at.lane));
  }
}

// What rounding took from a warp's operands of the products inside its block, 8 rows of a chunk tile
// each; 16-bit operands only.
template <class Operand>
struct Rests {
  Operand *q, *e, *k;
};

// Adds the scores of this warp's block with its own keys, q's over e's rows, as a product of
// unrounded operands (fp32: of rounded ones): left operands as above, slab.k has k times the
// bracket, and each is the sum of its operand and its rest. The product of two rests is left out.
template <class P>
__device__ __forceinline__ void add_scores_inside(float (&sum)[4],
                                                  const Slab<typename P::Operand>& slab,
                                                  const Rests<typename P::Operand>& rests,
                                                  int product_rows, ThreadPlace at) {
  const int row = kBlockRows * at.warp;
  Accumulator x;
  clear(x);
#pragma unroll
  for (int channel = 0; channel < kSlab; channel += kTile) {
    const auto left = tile_fragment_stacked(slab.q, slab.b, row, channel, at.lane);
    if constexpr (sizeof(typename P::Operand) == 2) {
      const auto keys = right_tile_stacked(slab.k + row * kChunk, rests.k, channel, at.lane);
      multiply<P>(x, left, keys);
      multiply_to_right_half<P>(x, tile_fragment_stacked(rests.q, rests.e, 0, channel, at.lane),
                                keys);
    } else {
      multiply<P>(x, left, tile_fragment_stacked(slab.k, slab.k, row, channel, at.lane));
    }
  }
  if (tile_row(0, at.lane) >= product_rows) return;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    sum[i] += sizeof(typename P::Operand) == 2
                  ? fma_(1 / kRestScale<typename P::Operand>, x.x[4 + i], x.x[i])
                  : x.x[i];
}

// A pair's sums into the matrices: q rows to Aqk, e rows to T.
__device__ __forceinline__ void store_scores_between(float* T, float* Aqk, const Accumulator& sum,
                                                     int n, ThreadPlace at) {
  const BlockPair pair = block_pair(n, at.warp);
#pragma unroll
  for (int i = 0; i < 8; i += 2) {
    const int row = kBlockRows * pair.row + tile_row(0, at.lane),
              column = kTile * pair.columns + tile_col(i, at.lane);
    if (column < kBlockRows * pair.row)
      *reinterpret_cast<Pair<float>*>((i / 2 % 2 == 0 ? Aqk : T) + row * kMatrixLd +
                                      column) = {{sum.x[i], sum.x[i + 1]}};
  }
}

// inside: the sums of add_scores_inside. Above the diagonal it writes what
// nobody reads.
__device__ __forceinline__ void store_scores_inside(float* T, float* Aqk, const float (&inside)[4],
                                                    ThreadPlace at) {
  const int place = kBlockRows * at.warp * (kMatrixLd + 1) + tile_row(0, at.lane) * kMatrixLd +
                    tile_col(0, at.lane);
  *reinterpret_cast<Pair<float>*>(Aqk + place) = {{inside[0], inside[1]}};
  *reinterpret_cast<Pair<float>*>(T + place) = {{inside[2], inside[3]}};
}

// Adds what was formed directly. of_query, of_erase: this lane's scores_inside. twice: 2 when b is
// doubled. norm: lane r has 1 / norm of q's row r, lane 8 + r that of k's.
__device__ __forceinline__ void store_direct_scores(float* T, float* Aqk, float of_query,
                                                    float of_erase, float twice, float norm,
                                                    ThreadPlace at) {
  const bool below = at.lane < kInside;
  const int i = row_of_query(at.lane), j = below ? at.lane - number_inside(i, 0) : i;
  const int origin = kBlockRows * at.warp * (kMatrixLd + 1), place = origin + i * kMatrixLd + j;
  const float q = shuffle(norm, i), k = shuffle(norm, kBlockRows + j),
              e = shuffle(norm, below ? kBlockRows + i : i + 4);
  const float k_last = shuffle(norm, below ? kBlockRows + j : kBlockRows + i + 4);
  Aqk[place] += of_query * q * k;
  (below ? T[place] : Aqk[origin + (i + 4) * (kMatrixLd + 1)]) +=
      (below ? twice * of_erase : of_erase) * e * k_last;
}

}  // namespace gdr2::cuda
