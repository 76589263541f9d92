// SPDX-License-Identifier: Apache-2.0
// The end of prep: Y = A Ebar, A = (I + T)^-1, from the Ebar that stands in Y's place in the record (it
// is still in the second-level cache). With it the scan's chain is R = A Z - Y S, one product shorter
// than A (Z - Ebar S), and the reverse scan's Y^T dR.
#pragma once

#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/prep_slab.cuh"
#include "kernels/cuda/state_memory.cuh"

namespace gdr2::cuda {

// A record's tiles Y, as many at a time as there is room for: a warp forms 16 tokens of half of the
// channels. Warpgroups: by products of warpgroups (Hopper, 16 bits).
template <class P, bool Warpgroups>
struct SolutionTiles {
  using Operand = typename P::Operand;
  static constexpr int kStaged = PrepShared<Operand>::kStaged;
  static constexpr int kStrips = kStaged * (kChunk / kTile) / 2;  // of 16 channels, a warp's
  static_assert(sizeof(ChunkMatrices::Aqk) >= kStaged * kTileElements * sizeof(Operand));

  PrepShared<Operand>& shared;
  Operand* record;  // tile y(0); y(1) is two tiles on
  int K, kb;
  ThreadPlace at = ThreadPlace::here();

  // Starts to copy Ebar's blocks `first` on.
  __device__ __forceinline__ void fetch(int first) const {
#pragma unroll
    for (int n = 0; n < kStaged; ++n)
      if (first + n < kb)
        copy_tile_async<kPrepThreads>(shared.factors.ebar[n], record_tile(first + n), at.thread());
    copy_commit();
  }

  // All blocks, of which the first are on their way.
  __device__ __forceinline__ void form(const StageTensor& stage, int64_t c, int h) const {
#pragma unroll 1
    for (int first = 0; first < kb; first += kStaged) {
      if (first > 0) fetch(first);
      copy_wait<0>();
      if constexpr (Warpgroups) publish_to_engines();
      sync_threads();
      multiply(stage, c, h, first);
      if constexpr (Warpgroups) publish_to_engines();
      sync_threads();
      store(first);
    }
  }

 private:
  __device__ __forceinline__ Operand* record_tile(int block) const {
    return record + block * 2 * kTileElements;
  }
  __device__ __forceinline__ Operand* y_tile(int n) const {
    return reinterpret_cast<Operand*>(shared.matrices.Aqk) + n * kTileElements;
  }

  // Half of the channels from block `first` on.
  __device__ __forceinline__ void multiply(const StageTensor& stage, int64_t c, int h,
                                           int first) const {
    constexpr int kRowTiles = kChunk / kTile;
    const int half = at.warp / kRowTiles, turn = at.warp % kRowTiles, strip = half * kStrips;
    const int n = strip / kRowTiles, channel = strip % kRowTiles * kTile;
    if (first + n >= kb) return;
    Accumulator y[kStrips];
    int row = turn * kTile;
    if constexpr (Warpgroups) {
      begin_products();
      start_product<LeftStorage::kRows, Product::kSet, RightStorage::kRows>(y, shared.factors.a,
                                                                            shared.factors.ebar[n]);
      commit_products();
      wait_products<0>();
    } else {
      // the second half in reverse, so that a scheduler's warps have the same work together
      if (half == 1) row = (kRowTiles - 1 - turn) * kTile;
      multiply_rows(y, shared.factors.ebar[n], row, channel);
    }
#pragma unroll
    for (int s = 0; s < kStrips; ++s) {
      store_tile_fragment(y_tile(n), row, channel + s * kTile,
                          rounded<P>(to_operand<Operand>(y[s])), at.lane);
      export_transposed(transposed(stage), c, h, row, (first + n) * kChunk + channel + s * kTile,
                        kChunk, K, y[s]);
    }
  }

  // 16 tokens of y; A is lower triangular.
  __device__ __forceinline__ void multiply_rows(Accumulator (&y)[kStrips], const Operand* ebar,
                                                int row, int channel) const {
    clear(y);
#pragma unroll
    for (int k = 0; k < kChunk; k += kTile) {
      if (k > row) break;
      const auto a = tile_fragment(shared.factors.a, row, k, at.lane);
#pragma unroll
      for (int s = 0; s < kStrips; ++s)
        multiply_rounded<P>(y[s], a,
                            right_fragment_transposed(ebar, k, channel + s * kTile, at.lane));
    }
  }

  __device__ __forceinline__ void store(int first) const {
    if constexpr (Warpgroups) {
      if (at.thread() != 0) return;
      for (int n = 0; n < kStaged && first + n < kb; ++n)
        store_bulk(record_tile(first + n), y_tile(n), kTileElements * sizeof(Operand));
      return wait_bulk_stores_read();
    }
    constexpr int kUnit = 16 / sizeof(Operand);
#pragma unroll
    for (int n = 0; n < kStaged; ++n) {
      if (first + n >= kb) return;
#pragma unroll
      for (int i = 0; i < kTileElements; i += kPrepThreads * kUnit) {
        const int place = i + at.thread() * kUnit;
        *reinterpret_cast<Pack16*>(record_tile(first + n) + place) =
            *reinterpret_cast<const Pack16*>(y_tile(n) + place);
      }
    }
  }
};

}  // namespace gdr2::cuda
