// SPDX-License-Identifier: Apache-2.0
// Prep's shared memory and what a warp does with one slab of 64 channels: decays, operands of the
// scores, and the record's Q gamma, Kt and, in the place of Y, Ebar.
#pragma once

#include "kernels/cuda/prep_scores.cuh"
#include "kernels/cuda/solve.cuh"

namespace gdr2::cuda {

struct ChunkMatrices {
  float T[kChunk * kMatrixLd];                                 // then (I + T)^-1
  float Aqk[kChunk * kMatrixLd], scratch[kHalf * kScratchLd];  // Aqk, then Y's tiles
};

// A thread's sums of scores between blocks wait for the next slab.
using WaitingSums = Pack<float, 4>[2][kPrepThreads];
__device__ __forceinline__ void store_sums(WaitingSums& waiting, const Accumulator& sum,
                                           int thread) {
#pragma unroll
  for (int i = 0; i < 2; ++i)
    waiting[i][thread] = {{sum.x[4 * i], sum.x[4 * i + 1], sum.x[4 * i + 2], sum.x[4 * i + 3]}};
}
__device__ __forceinline__ Accumulator load_sums(const WaitingSums& waiting, int thread) {
  Accumulator sum;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum.x[i] = waiting[i / 4][thread][i % 4];
  return sum;
}

template <class Operand>
struct PrepShared {
  union {
    Slab<Operand> slab;
    ChunkMatrices matrices;  // in place of the last slab, once its scores are formed
  };
  struct Sums {
    float log_total[kBlocks * kSlab], total[kBlocks * kSlab];  // by block: sum of g, exp of it
    PairDecays decays[kBlocks][2];                             // by warp
    WaitingSums between[2];  // by thread: the scores between blocks
  };
  static constexpr int kStaged = sizeof(Operand) == 2 ? 2 : 1;
  struct Factors {
    alignas(1024) Operand a[kTileElements];
    Operand ebar[kStaged][kTileElements];
  };
  union {
    Sums sums;
    Factors factors;  // of Y, once all scores are formed
  };
};

// What a warp does with one slab.
template <class P>
struct SlabWork {
  using Operand = typename P::Operand;
  PrepShared<Operand>& shared;
  const DeviceProblem& p;
  int rows, head;  // of the chunk
  Operand* record;
  RecordTiles tiles;
  int block;   // of 64 channels
  float norm;  // inverse_norms
  ThreadPlace at = ThreadPlace::here();

  // Leaves the block's total decay to the other warps; returns what each row contributes to decays.
  __device__ __forceinline__ void take_decays(BlockPairs& step) const {
    load_log_decays(step, shared.slab.g, p, rows, head, block * kSlab, at);
    Pair<float> sum{};
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r) {
      sum = {{sum[0] + step[r][0], sum[1] + step[r][1]}};
      step[r] = {{DecayWalk<P>::step(step[r][0]), DecayWalk<P>::step(step[r][1])}};
    }
    const int mine = kSlab * at.warp + 2 * at.lane;
    *reinterpret_cast<Pair<float>*>(shared.sums.log_total + mine) = sum;
    *reinterpret_cast<Pair<float>*>(shared.sums.total + mine) = {
        {DecayWalk<P>::exp(sum[0]), DecayWalk<P>::exp(sum[1])}};
  }

  // The decays over all blocks before and all after this warp's.
  struct Around {
    Pair<float> before, after;
  };
  __device__ __forceinline__ Around decays_around() const {
    Pair<float> before{}, after{};
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const auto t =
          *reinterpret_cast<const Pair<float>*>(shared.sums.log_total + kSlab * i + 2 * at.lane);
      if (i < at.warp) before = {{before[0] + t[0], before[1] + t[1]}};
      if (i > at.warp) after = {{after[0] + t[0], after[1] + t[1]}};
    }
    const auto exp = DecayWalk<P>::exp;
    return {{{exp(before[0]), exp(before[1])}}, {{exp(after[0]), exp(after[1])}}};
  }

  template <class T>
  __device__ __forceinline__ Pair<float> row(const T* rows, int r) const {
    return load_pair(rows + place_in_rows(lane_origin(at), r));
  }

  // Does every row's score inside the block hold as a product? (IEEE policy: never.)
  __device__ __forceinline__ bool all_products(const BlockPairs& step, const BlockPairs& k) const {
    if constexpr (DecayWalk<P>::kLog) return false;
    DecayWalk<P> decay[2];
    float largest[2] = {};
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        decay[c].pass(step[r][c]);
        largest[c] = fmaxf(largest[c], fabsf(k[r][c]));
      }
    // Decays fall: what holds in the last row with the largest key holds in every row.
    return warp_all(bracket_holds<P>(decay[0].value(), largest[0]) &&
                    bracket_holds<P>(decay[1].value(), largest[1]));
  }

  // How many rows, from the first on, hold. slab.g has the steps.
  __device__ __forceinline__ int count_product_rows() const {
    if constexpr (DecayWalk<P>::kLog) return 0;
    DecayWalk<P> decay[2];
#pragma unroll 1
    for (int r = 0; r < kBlockRows; ++r) {
      const Pair<float> k = row(shared.slab.k, r), step = row(shared.slab.g, r);
      decay[0].pass(step[0]);
      decay[1].pass(step[1]);
      if (!warp_all(bracket_holds<P>(decay[0].value(), k[0]) &&
                    bracket_holds<P>(decay[1].value(), k[1])))
        return r;
    }
    return kBlockRows;
  }

  // Adds this lane's scores of the rows that are not products; returns how many are. step and k are
  // loaded anew, so that they need not stay in registers.
  __device__ __forceinline__ int add_direct_scores(BlockPairs& step, BlockPairs& k, float& of_query,
                                                   float& of_erase) {
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r)
      store_pair(shared.slab.g + place_in_rows(lane_origin(at), r), step[r]);
    sync_warp();
    const int product_rows = count_product_rows();
    const float query = scores_inside<P, Scores::kQuery>(shared.slab, at),
                erase = scores_inside<P, Scores::kErase>(shared.slab, at);
    if (row_of_query(at.lane) >= product_rows) of_query += query;
    if (row_of_erase(at.lane) >= product_rows) of_erase += erase;
    sync_warp();
    load_block(step, shared.slab.g, at);
    load_block(k, shared.slab.k, at);
    return product_rows;
  }

  // Where the rests of this warp's operands stand until the scores inside its block are formed:
  // those of q and e in its rows of slab.g, those of k where its decays between blocks come later.
  __device__ __forceinline__ Rests<Operand> rests() const {
    auto* q = reinterpret_cast<Operand*>(shared.slab.g + kBlockRows * kSlab * at.warp);
    return {q, q + kBlockRows * kSlab, reinterpret_cast<Operand*>(shared.sums.decays[at.warp])};
  }

  // An operand of the scores to its tile, with what rounding takes from it where that is used.
  __device__ __forceinline__ void store_operand(Operand* tile, Operand* rest, int r,
                                                const Pair<float>& x) const {
    const int column = operand_column(at.lane);
    Operand* target = tile + place_in_tile<Operand>(kBlockRows * kChunk * at.warp + column, r);
    if constexpr (sizeof(Operand) == 2) {
      store_split(target, rest + place_in_tile<Operand>(column, r), x);
    } else {
      store_pair(target, x);
    }
  }

  // From the block's start: q and e with their decay stay as left operands and, times the decay
  // before the block, go to the record; k over its decay stays as right operand of the block with
  // itself. kScaled: norms and the doubling of b apply, and k is left with its norm.
  template <bool kScaled>
  __device__ __forceinline__ void store_operands(const BlockPairs& step, BlockPairs& k,
                                                 const Pair<float>& before, int product_rows) {
    Operand* ebar = record + tiles.y(block) * kTileElements;  // qg follows
    const float twice = p.neg_eigval ? 2.0f : 1.0f;
    const Rests<Operand> rest = rests();
    DecayWalk<P> decay[2];
    Pair<float> next_q = row(shared.slab.q, 0), next_b = row(shared.slab.b, 0);
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r) {
      Pair<float> q = next_q, e = next_b;
      if (r + 1 < kBlockRows) {
        next_q = row(shared.slab.q, r + 1);
        next_b = row(shared.slab.b, r + 1);
      }
      sync_warp();  // the row is read, its place free
      if constexpr (kScaled) {
        k[r] = scaled(k[r], shuffle(norm, kBlockRows + r));
        q = scaled(q, shuffle(norm, r));
        e = scaled(e, twice);
      }
      decay[0].pass(step[r][0]);
      decay[1].pass(step[r][1]);
      const Pair<float> d{{decay[0].value(), decay[1].value()}};
      q = product(q, d);
      e = product(product(e, k[r]), d);
      store_operand(shared.slab.q, rest.q, r, q);
      store_operand(shared.slab.b, rest.e, r, e);
      Operand* target = ebar + place_in_tile<Operand>(lane_origin(at), r);
      store_pair(target, rounded_pair<P>(product(e, before)));
      store_pair(target + kTileElements, rounded_pair<P>(product(q, before)));
      if constexpr (!DecayWalk<P>::kLog) {
        const Pair<float> key = product(k[r], {{fast_reciprocal(d[0]), fast_reciprocal(d[1])}});
        store_operand(shared.slab.k, rest.k, r, r < product_rows ? key : Pair<float>{});
      }
    }
  }

  // From the block's end: k with its decay stays for the other blocks' right operand and, times the
  // decay after the block, goes to the record.
  __device__ __forceinline__ void store_decayed_keys(const BlockPairs& step, const BlockPairs& k,
                                                     const Pair<float>& after) {
    Operand* kt = record + tiles.kt(block) * kTileElements;
    DecayWalk<P> decay[2];
#pragma unroll
    for (int r = kBlockRows - 1; r >= 0; --r) {
      const Pair<float> key = product(k[r], {{decay[0].value(), decay[1].value()}});
      store_pair(shared.slab.g + place_in_tile<float>(lane_origin(at), r), key);
      store_pair(kt + place_in_tile<Operand>(lane_origin(at), r),
                 rounded_pair<P>(product(key, after)));
      decay[0].pass(step[r][0]);
      decay[1].pass(step[r][1]);
    }
  }

  // gamma_C of the slab's channels, by one warp.
  __device__ __forceinline__ void store_chunk_decay(float* chunk_decay) const {
    if (at.warp != 0) return;
    Pair<float> sum{};
    for (int i = 0; i < kBlocks; ++i) {
      const auto t =
          *reinterpret_cast<const Pair<float>*>(shared.sums.log_total + kSlab * i + 2 * at.lane);
      sum = {{sum[0] + t[0], sum[1] + t[1]}};
    }
    *reinterpret_cast<Pair<float>*>(chunk_decay + kSlab * block +
                                    2 * at.lane) = {{exp_(sum[0]), exp_(sum[1])}};
  }
};

}  // namespace gdr2::cuda
