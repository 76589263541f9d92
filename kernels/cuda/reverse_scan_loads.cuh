// SPDX-License-Identifier: Apache-2.0
// The reverse scan's shared memory and what flows into it: a ring of slots that each take two
// neighbouring tiles of a record, filled some steps ahead of their use, and beside it d_o and the
// decay of the chunks on their way, the last chunk first.
#pragma once

#include "kernels/cuda/adjoints.hpp"
#include "kernels/cuda/chunk_tile_copy.cuh"
#include "kernels/cuda/device/fragment.cuh"

namespace gdr2::cuda::reverse_scan {

constexpr int kTokenTiles = kChunk / kTile;

// How the scan is cut: `Strips` (2 or 4) strips of 16 columns of V a CTA, four warps for each;
// `Slots` slots in the ring.
template <class Products, int KeyBlocks, int Strips, int Slots>
struct Shape {
  using P = Products;
  using Operand = typename P::Operand;
  static constexpr int kKeyBlocks = KeyBlocks, kStrips = Strips, kColumns = Strips * kTile,
                       kThreads = Strips * kTokenTiles * kWarp;

  // A chunk's steps: kt two by two, then (a, aqk), then KB times (y, qg).
  static constexpr int kKeyPairs = (KeyBlocks + 1) / 2;
  static constexpr int kSolve = kKeyPairs, kState = kSolve + 1, kSteps = kState + KeyBlocks;
  static constexpr int first_tile(int step) {
    constexpr RecordTiles kRecord{KeyBlocks};
    return step < kSolve    ? kRecord.kt(2 * step)
           : step == kSolve ? kRecord.a()
                            : kRecord.y(step - kState);
  }
  static constexpr int tiles(int step) { return KeyBlocks == 1 && step == 0 ? 1 : 2; }

  static constexpr int kGroup =
      sizeof(Operand) == 2 ? 2 : 1;  // steps that may be asked for at once
  static constexpr int kSlots = Slots;
  static constexpr int kAhead = kSlots - 1 - kGroup;  // steps between a fetch and its use
  // d_o and the decay are fetched with step 0 and used up to the last step.
  static constexpr int kRowBuffers = kAhead / kSteps + 2;
  static constexpr int kRowLd = kColumns + 8;
  static constexpr bool kRests = sizeof(Operand) == 2;  // Aqk and dR come in two terms
  // aqk_rest is used up to the solve step; one buffer will do when the next chunk's fetch comes later.
  static constexpr int kRestBuffers = kSteps - kAhead > kSolve ? 1 : kRowBuffers;
  static_assert(kAhead >= kGroup);
};

template <class S>
struct Shared {
  using Operand = typename S::Operand;
  Operand slot[S::kSlots][2 * kTileElements];
  Operand ds[S::kKeyBlocks][S::kColumns * kChunk];  // dS^T as operand: [column, channel]
  Operand dr[S::kColumns * kChunk],
      p[S::kColumns * kChunk];                      // dR^T, P^T as operands: [column, token]
  Operand d_o[S::kRowBuffers][kChunk * S::kRowLd];  // [token, column]
  float decay[S::kRowBuffers][S::kKeyBlocks * kChunk];
  Operand aqk_rest[S::kRests ? S::kRestBuffers : 1][S::kRests ? kTileElements : 1];
  Operand dr_rest[S::kRests ? S::kColumns * kChunk : 1];
};

// What a CTA works on.
struct Work {
  int64_t n;
  Sequence sequence;
  int32_t hv, h, first_column;
};

template <class S>
__device__ __forceinline__ Work work_of(const DeviceProblem& p, int value_blocks) {
  const int64_t parts = value_blocks * kChunk / S::kColumns, block = block_index().x;
  Work w;
  w.hv = static_cast<int32_t>(block / parts % p.HV);
  w.h = w.hv / p.group;
  w.n = block / parts / p.HV;
  w.sequence = sequence_at(p, w.n);
  w.first_column = static_cast<int32_t>(block % parts) * S::kColumns;
  return w;
}

template <class S>
struct PlaceInCotangent {
  __device__ __forceinline__ int operator()(int r, int c) const { return r * S::kRowLd + c; }
};

// The steps of a sequence's chunks, one after the other, the last chunk first.
template <class S>
class Stream {
 public:
  using Operand = typename S::Operand;

  __device__ __forceinline__ Stream(Shared<S>& shared, const DeviceProblem& p,
                                    const Intermediates<Operand>& m, const Work& work)
      : shared_(shared), p_(p), work_(work), index_(work.sequence.chunks - 1) {
    const int64_t c = work.sequence.first_chunk + index_;
    record_ = m.record(c, work.h) + thread_index() * kUnit;
    record_stride_ = static_cast<int64_t>(m.H) * m.tiles().count() * kTileElements;
    decay_ = m.decay(c, work.h) + 4 * thread_index();
    decay_stride_ = static_cast<int64_t>(m.H) * S::kKeyBlocks * kChunk;
    if constexpr (S::kRests) aqk_rest_ = m.aqk_rest_tile(c, work.h) + thread_index() * kUnit;
    aqk_rest_stride_ = static_cast<int64_t>(m.H) * kTileElements;
    start<0>();
  }

  // The tiles of `Count` steps of the present chunk from `Step` on, a barrier for all threads. They
  // and those of the step before them stay until the next call but one. Steps are asked for in
  // their order.
  template <int Step, int Count = 1>
  __device__ __forceinline__ void next(const Operand* (&tiles)[Count]) {
    static_assert(Count <= S::kGroup);
    copy_wait<S::kAhead - Count>();
    sync_threads();
    fetch_ahead<Step + S::kAhead, Count>();
#pragma unroll
    for (int i = 0; i < Count; ++i) tiles[i] = shared_.slot[(slot_ + i) % S::kSlots];
    slot_ = (slot_ + Count) % S::kSlots;
  }

  // To the chunk before.
  __device__ __forceinline__ void retreat() {
    --index_;
    record_ -= record_stride_;
    decay_ -= decay_stride_;
    if constexpr (S::kRests) aqk_rest_ -= aqk_rest_stride_;
  }

 private:
  static constexpr int kUnit = 16 / sizeof(Operand);

  // Starts the copies of step `Step` of the chunk `back` before the present one, nothing before the
  // first chunk. Always one group.
  template <int Step>
  __device__ __forceinline__ void fetch(int back, unsigned to) {
    if (index_ >= back) {
      const Operand* source = record_ - back * record_stride_ + S::first_tile(Step) * kTileElements;
      Operand* target = shared_.slot[to] + thread_index() * kUnit;
#pragma unroll
      for (int i = 0; i < S::tiles(Step) * kTileElements; i += S::kThreads * kUnit)
        copy_async_16(target + i, source + i, true);
      if constexpr (Step == 0) {
        const int buffer = static_cast<int>((index_ - back) % S::kRowBuffers);
        fetch_cotangent(shared_.d_o[buffer], chunk_of(work_.sequence, work_.n, index_ - back));
        if (thread_index() < S::kKeyBlocks * kChunk / 4)
          copy_async_16(shared_.decay[buffer] + 4 * thread_index(), decay_ - back * decay_stride_,
                        true);
        if constexpr (S::kRests)
#pragma unroll
          for (int i = 0; i < kTileElements; i += S::kThreads * kUnit)
            copy_async_16(
                shared_.aqk_rest[(index_ - back) % S::kRestBuffers] + thread_index() * kUnit + i,
                aqk_rest_ - back * aqk_rest_stride_ + i, true);
      }
    }
    copy_commit();
  }

  template <int Step, int Count, int I = 0>
  __device__ __forceinline__ void fetch_ahead() {
    fetch<(Step + I) % S::kSteps>((Step + I) / S::kSteps, (slot_ + S::kAhead + I) % S::kSlots);
    if constexpr (I + 1 < Count) fetch_ahead<Step, Count, I + 1>();
  }

  template <int Step>
  __device__ __forceinline__ void start() {
    fetch<Step % S::kSteps>(Step / S::kSteps, Step);
    if constexpr (Step + 1 < S::kAhead) start<Step + 1>();
  }

  // This CTA's columns of d_o, zero past the tail and past V, or all when it is absent.
  __device__ __forceinline__ void fetch_cotangent(Operand* tile, const Chunk& chunk) {
    constexpr int kUnits = S::kColumns / kUnit;
    const bool absent = p_.d_o.data == nullptr;
    const TokenTensor& x = absent ? p_.v : p_.d_o;
    const Operand* row = x.row<const Operand>(chunk.batch, chunk.token, work_.hv);
    const int thread = thread_index(), rows = absent ? 0 : chunk.rows;
    if (x.vector) {
      const int r = thread / kUnits, c = work_.first_column + thread % kUnits * kUnit;
      copy_rows_async<S::kThreads / kUnits, kChunk>(tile + r * S::kRowLd + thread % kUnits * kUnit,
                                                    S::kRowLd, row + r * x.token + c, x.token, r,
                                                    rows, c < p_.V, row);
      return;
    }
    copy_unaligned_rows<S::kColumns, S::kThreads, PlaceInCotangent<S>>(
        tile, row + work_.first_column, x.token, x.aligned, rows, p_.V - work_.first_column,
        thread);
  }

  Shared<S>& shared_;
  const DeviceProblem& p_;
  const Work& work_;
  int64_t index_;          // of the present chunk within the sequence
  const Operand* record_;  // its record, from this thread's 16 bytes on
  const float* decay_;     // likewise
  const Operand* aqk_rest_ = nullptr;
  int64_t record_stride_, decay_stride_, aqk_rest_stride_;
  unsigned slot_ = 0;  // of the next step
};

}  // namespace gdr2::cuda::reverse_scan
