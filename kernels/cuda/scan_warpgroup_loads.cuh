// SPDX-License-Identifier: Apache-2.0
// The warpgroup scan's shared memory and what flows into it. Records arrive by bulk copies, two
// neighbouring tiles a step, in a ring of slots that a warp of its own keeps full: as soon as a
// slot's tiles are used, it starts the copy that takes their place. v and w, whose rows are
// strided, arrive by the asynchronous copies of the second warpgroup.
#pragma once

#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/scan_loads.cuh"

namespace gdr2::cuda::scan {

// As Shape; here a CTA has a multiprocessor to itself, two warpgroups and a third of which one thread
// feeds them, and all slots of the ring are under way or in use.
template <class Products, int KeyBlocks, int Strips>
struct WarpgroupShape {
  using P = Products;
  using Operand = typename P::Operand;
  static constexpr int kKeyBlocks = KeyBlocks, kStrips = Strips, kColumns = Strips * kTile;
  static constexpr int kSolve = KeyBlocks, kSteps = KeyBlocks + 1 + (KeyBlocks + 1) / 2;
  static constexpr int tiles(int step) { return KeyBlocks == 1 && step == kSteps - 1 ? 1 : 2; }

  static constexpr int kThreads = 3 * kWarpgroup, kRegisters = 240, kFeederRegisters = 24;
  static constexpr int kSlots = Strips == 2 ? 10 : Strips == 4 ? 8 : 6;
  static constexpr int kValueBuffers = Strips == 2 ? 4 : Strips == 4 ? 3 : 2;
  // The decay comes with the solve step and is used before that chunk's first slots are free; one
  // buffer more, so that nothing is written while a warp may still be about to leave its reading.
  static constexpr int kDecayBuffers = (kSlots + kSteps - 1 - kSolve) / kSteps + 1;
  static_assert(kSteps <= kSlots);
};

// What the warps of a chunk wait for; one phase a chunk.
struct Meetings {
  Transfer state_stands;  // S as operand, by both warpgroups
  Transfer values_stand;  // v and w, by the second's threads, that copy them
  Transfer erased;        // X as operand, by the first
  Transfer
      rows_stand;      // R as operand, by the first; S is read by the second and kept by the feeder
  Transfer rows_read;  // R is read by the second and kept by the feeder

  __device__ __forceinline__ void start() {
    constexpr int kWarps = kWarpgroup / kWarp;
    start_transfer(state_stands, 2 * kWarps);
    start_transfer(values_stand, kWarpgroup);
    start_transfer(erased, kWarps);
    start_transfer(rows_stand, 2 * kWarps + 1);
    start_transfer(rows_read, kWarps + 1);
  }
};

template <class S>
struct WarpgroupShared {
  using Operand = typename S::Operand;
  alignas(1024) Operand slot[S::kSlots][2 * kTileElements];
  Operand state[S::kKeyBlocks][S::kColumns * kChunk];        // S^T as operand: [column, channel]
  Operand x[S::kColumns * kChunk], r[S::kColumns * kChunk];  // X^T, R^T: [column, token]
  struct Values {
    Operand v[kTileElements / 4 * S::kStrips], w[kTileElements / 4 * S::kStrips];
  } values[S::kValueBuffers];  // [token, column], see value_at
  float decay[S::kDecayBuffers][S::kKeyBlocks * kChunk];
  Transfer arrives[S::kSlots];
  Meetings meetings;
  Work work;
};

// Where a step's tiles are. Every thread that uses them follows the ring for itself.
template <class S>
struct Ring {
  WarpgroupShared<S>& shared;
  int first = 0;  // slot of the present chunk's step 0
  uint32_t parity = 0;

  // Waits for the tiles of step `Step`.
  template <int Step>
  __device__ __forceinline__ const typename S::Operand* wait() const {
    const bool wraps = first + Step >= S::kSlots;
    const int slot = wraps ? first + Step - S::kSlots : first + Step;
    wait_transfer(shared.arrives[slot], wraps ? parity ^ 1 : parity);
    return shared.slot[slot];
  }

  __device__ __forceinline__ void next_chunk() {
    first += S::kSteps;
    if (first < S::kSlots) return;
    first -= S::kSlots;
    parity ^= 1;
  }
};

// Fills the ring; of one thread.
template <class S>
struct Feeder {
  using Operand = typename S::Operand;
  WarpgroupShared<S>& shared;
  const Intermediates<Operand>& m;
  const Operand* tiles;
  const float* decay;
  int slot = 0;  // the one filled next, which is also the one freed next

  __device__ __forceinline__ Feeder(WarpgroupShared<S>& shared, const Intermediates<Operand>& m)
      : shared(shared),
        m(m),
        tiles(m.record(shared.work.sequence.first_chunk, shared.work.h)),
        decay(m.decay(shared.work.sequence.first_chunk, shared.work.h)) {}

  // Before the first chunk.
  template <int Step = 0>
  __device__ __forceinline__ void start() {
    fetch<Step % S::kSteps>(Step / S::kSteps);
    if constexpr (Step + 1 < S::kSlots) start<Step + 1>();
  }

  // Steps First .. Last - 1 of chunk `index` are used.
  template <int First, int Last>
  __device__ __forceinline__ void refill(int index) {
    constexpr int kFetched = First + S::kSlots;
    fetch<kFetched % S::kSteps>(index + kFetched / S::kSteps);
    if constexpr (First + 1 < Last) refill<First + 1, Last>(index);
  }

 private:
  template <int Step>
  __device__ __forceinline__ void fetch(int index) {
    if (index >= shared.work.chunks) return;
    constexpr uint32_t kBytes = S::tiles(Step) * kTileElements * sizeof(Operand),
                       kDecayBytes = Step == S::kSolve ? S::kKeyBlocks * kChunk * 4 : 0;
    Transfer& transfer = shared.arrives[slot];
    expect_bytes(transfer, kBytes + kDecayBytes);
    copy_bulk(shared.slot[slot], tiles, kBytes, transfer);
    tiles += S::tiles(Step) * kTileElements;
    if constexpr (Step == S::kSteps - 1)
      tiles += static_cast<int64_t>(m.H - 1) * m.tiles().count() * kTileElements;
    if constexpr (Step == S::kSolve) {
      copy_bulk(shared.decay[index % S::kDecayBuffers], decay, kDecayBytes, transfer);
      decay += static_cast<int64_t>(m.H) * S::kKeyBlocks * kChunk;
    }
    slot = slot == S::kSlots - 1 ? 0 : slot + 1;
  }
};

// Element (token, column) of a value tile [64, columns] of rows of kColumns elements, units permuted.
template <class S>
__device__ __forceinline__ int value_at(int token, int column) {
  constexpr int kUnits = S::kColumns / 8;
  return token * S::kColumns + ((column / 8) ^ (kUnits >= 8 ? token % 8 : token / 2 % 4)) * 8 +
         column % 8;
}

template <class S>
struct PlaceOfValue {
  __device__ __forceinline__ int operator()(int r, int c) const { return value_at<S>(r, c); }
};

// A warpgroup's copies of v and w, chunk after chunk; each chunk one group.
template <class S>
struct ValueStream {
  using Operand = typename S::Operand;
  static constexpr int kUnits = S::kColumns / 8, kRowStep = kWarpgroup / kUnits;

  WarpgroupShared<S>& shared;
  const DeviceProblem& p;
  const Operand *v, *w;  // this thread's, vector path only
  int index = 0;         // the next chunk

  __device__ __forceinline__ ValueStream(WarpgroupShared<S>& shared, const DeviceProblem& p)
      : shared(shared), p(p) {
    const Work& work = shared.work;
    const int r = thread_index() % kWarpgroup / kUnits,
              c = work.first_column + thread_index() % kUnits * 8;
    v = p.v.row<const Operand>(work.sequence.batch, work.sequence.token + r, work.hv) + c;
    w = p.w.row<const Operand>(work.sequence.batch, work.sequence.token + r, work.hv) + c;
  }

  __device__ __forceinline__ void fetch() {
    if (index < shared.work.chunks) {  // a group in any case
      auto& values = shared.values[index % S::kValueBuffers];
      fetch_columns(values.v, p.v, v);
      fetch_columns(values.w, p.w, w);
    }
    ++index;
    copy_commit();
  }

 private:
  // Zero past the tail and past V.
  __device__ __forceinline__ void fetch_columns(Operand* tile, const TokenTensor& x,
                                                const Operand*& source) const {
    const Work& work = shared.work;
    const int thread = fresh_thread_index() % kWarpgroup, rows = work.rows(index);
    if (x.vector) {
      const int r = thread / kUnits, c = thread % kUnits * 8;
      static_assert(kRowStep % 8 == 0);  // so that rows r + kRowStep i have r's permutation
      copy_rows_async<kRowStep, kChunk>(tile + value_at<S>(r, c), S::kColumns, source, x.token, r,
                                        rows, work.first_column + c < p.V,
                                        static_cast<const Operand*>(x.data));
      source += kChunk * x.token;
      return;
    }
    const Operand* row = x.row<const Operand>(
        work.sequence.batch, work.sequence.token + static_cast<int64_t>(index) * kChunk, work.hv);
    copy_unaligned_rows<S::kColumns, kWarpgroup, PlaceOfValue<S>>(
        tile, row + work.first_column, x.token, x.aligned, rows, p.V - work.first_column, thread);
  }
};

}  // namespace gdr2::cuda::scan
