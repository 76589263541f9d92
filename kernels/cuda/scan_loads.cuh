// SPDX-License-Identifier: Apache-2.0
// The scan's shared memory and what flows into it: a ring of slots that each take two neighbouring
// tiles of a record, filled some steps ahead of their use, and beside it v, w and the decay of the
// chunks on their way.
#pragma once

#include "kernels/cuda/chunk_tile_copy.cuh"
#include "kernels/cuda/device/fragment.cuh"

namespace gdr2::cuda::scan {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kStepBarrier = 1;  // named: the compiler gives each role of warps a wait of its own
constexpr int kTokenTiles = kChunk / kTile;

// How a scan is cut: `Strips` strips of 16 columns of V a CTA.
template <class Products, int KeyBlocks, int Strips>
struct Shape {
  using P = Products;
  using Operand = typename P::Operand;
  static constexpr int kKeyBlocks = KeyBlocks, kStrips = Strips, kColumns = Strips * kTile;

  // A chunk's steps: KB times (y, qg), then (a, aqk), then kt two by two.
  static constexpr int kSolve = KeyBlocks, kSteps = KeyBlocks + 1 + (KeyBlocks + 1) / 2;
  static constexpr int tiles(int step) { return KeyBlocks == 1 && step == kSteps - 1 ? 1 : 2; }

  // Four slots let two CTAs share a multiprocessor; a CTA on its own looks further ahead.
  static constexpr int kSlots = sizeof(Operand) == 2 && Strips == 2 ? 10 : 4;
  // Steps between a fetch and its use: the present step and the one before keep their slots.
  static constexpr int kAhead = kSlots - 2;
  static constexpr int kCtasPerMultiprocessor =
      sizeof(Operand) == 2 && Strips == 4 && KeyBlocks <= 2 ? 2 : 1;
  // A CTA on its own is bound by the chain of its steps and fetches at a step's end, off the chain;
  // two hide it.
  static constexpr bool kFetchesFirst = kCtasPerMultiprocessor == 2;
  // v and w are fetched and used at the last (y, qg) step; the decay is fetched at the solve
  // step and used up to the last one.
  static constexpr int kValueBuffers = kAhead / kSteps + 1,
                       kDecayBuffers = (kAhead + kSteps - 1 - kSolve) / kSteps + 1;
};

// What a CTA works on.
struct Work {
  int64_t n;
  Sequence sequence;
  int32_t hv, h, first_column, chunks;

  // Tokens of the sequence's chunk `index`.
  __device__ __forceinline__ int rows(int index) const {
    const int64_t left = sequence.length - static_cast<int64_t>(index) * kChunk;
    return left < kChunk ? static_cast<int>(left) : kChunk;
  }
};

template <class S>
__device__ __forceinline__ Work work_of(const DeviceProblem& p, int value_blocks) {
  const int64_t parts = value_blocks * kChunk / S::kColumns, block = block_index().x;
  Work w;
  w.hv = static_cast<int32_t>(block / parts % p.HV);
  w.h = w.hv / p.group;
  w.n = block / parts / p.HV;
  w.sequence = part_of(p, sequence_at(p, w.n));
  w.chunks = static_cast<int32_t>(w.sequence.chunks);
  w.first_column = static_cast<int32_t>(block % parts) * S::kColumns;
  return w;
}

// Narrow parts of V when the CTAs with wide ones would leave half of the device idle.
inline bool narrow(const DeviceProblem& p, int value_blocks) {
  return 2 * p.N * p.HV * value_blocks <= multiprocessors();
}

template <class S>
struct Shared {
  using Operand = typename S::Operand;
  Operand slot[S::kSlots][2 * kTileElements];
  Operand state[S::kKeyBlocks][S::kColumns * kChunk];  // S^T as operand: [column, channel]
  Operand z[S::kColumns * kChunk],
      r[S::kColumns * kChunk];  // Z^T, R^T as operands: [column, token]
  struct Values {
    Operand v[kTileElements],
        w[kTileElements];  // chunk tiles [token, column], the CTA's columns first
  } values[S::kValueBuffers];
  float decay[S::kDecayBuffers][S::kKeyBlocks * kChunk];
  Work work;  // here rather than in every thread's registers
};

// The steps of a sequence's chunks, one after the other. Pointers are this thread's and move on
// with the fetches.
template <class S>
struct Stream {
  using Operand = typename S::Operand;
  static constexpr int kUnit = 16 / sizeof(Operand);  // elements a copy
  static constexpr int kUnits = S::kColumns / kUnit,
                       kRowStep = kThreads / kUnits;  // copies a row of v, rows a pass

  Shared<S>& shared;
  const DeviceProblem& p;
  const Intermediates<Operand>& m;
  const Operand* tiles;
  const Operand *v, *w;  // vector path only
  const float* decay;
  int slot = 0;  // of the next step

  __device__ __forceinline__ Stream(Shared<S>& shared, const DeviceProblem& p,
                                    const Intermediates<Operand>& m)
      : shared(shared), p(p), m(m) {
    const Work& work = shared.work;
    const int thread = thread_index();
    tiles = m.record(work.sequence.first_chunk, work.h) + thread * kUnit;
    decay = m.decay(work.sequence.first_chunk, work.h) + thread * 4;
    const int r = thread / kUnits, c = work.first_column + thread % kUnits * kUnit;
    v = p.v.row<const Operand>(work.sequence.batch, work.sequence.token + r, work.hv) + c;
    w = p.w.row<const Operand>(work.sequence.batch, work.sequence.token + r, work.hv) + c;
  }

  // Starts the copies of step `Step` of the sequence's chunk `index`, nothing past its end. Always
  // one group.
  template <int Step>
  __device__ __forceinline__ void fetch(int index, int to) {
    if (index < shared.work.chunks) {
      constexpr int kElements = S::tiles(Step) * kTileElements;
      copy_async_block<kElements / (kThreads * kUnit), kThreads * 16>(
          shared.slot[to] + fresh_thread_index() * kUnit, tiles);
      tiles += kElements;
      if constexpr (Step == S::kSteps - 1)
        tiles += static_cast<int64_t>(m.H - 1) * m.tiles().count() * kTileElements;
      if constexpr (Step == S::kSolve - 1) {
        auto& values = shared.values[index % S::kValueBuffers];
        fetch_columns(values.v, p.v, v, index);
        fetch_columns(values.w, p.w, w, index);
      }
      if constexpr (Step == S::kSolve) {
        const int thread = fresh_thread_index();
        if (thread < S::kKeyBlocks * kChunk / 4)
          copy_async_16(shared.decay[index % S::kDecayBuffers] + 4 * thread, decay);
        decay += static_cast<int64_t>(m.H) * S::kKeyBlocks * kChunk;
      }
    }
    copy_commit();
  }

  // This CTA's columns of v or w, zero past the tail and past V; `source` moves on to the next
  // chunk.
  __device__ __forceinline__ void fetch_columns(Operand* tile, const TokenTensor& x,
                                                const Operand*& source, int index) {
    const Work& work = shared.work;
    const int thread = fresh_thread_index(), rows = work.rows(index);
    if (x.vector) {
      const int r = thread / kUnits, c = thread % kUnits * kUnit;
      copy_rows_async<kRowStep, kChunk>(tile + chunk_tile_at<Operand>(r, c), kChunk, source,
                                        x.token, r, rows, work.first_column + c < p.V,
                                        static_cast<const Operand*>(x.data));
      source += kChunk * x.token;
      return;
    }
    const Operand* row = x.row<const Operand>(
        work.sequence.batch, work.sequence.token + static_cast<int64_t>(index) * kChunk, work.hv);
    copy_unaligned_rows<S::kColumns, kThreads, PlaceInTile<Operand>>(
        tile, row + work.first_column, x.token, x.aligned, rows, p.V - work.first_column, thread);
  }

  // Before the first step.
  template <int Step = 0>
  __device__ __forceinline__ void start() {
    fetch<Step % S::kSteps>(Step / S::kSteps, Step);
    if constexpr (Step + 1 < S::kAhead) start<Step + 1>();
  }

  // The tiles of the next step, `Step` of chunk `index`, after a barrier for all threads. They stay
  // until the next step but one is asked for.
  template <int Step>
  __device__ __forceinline__ const Operand* next(int index) {
    copy_wait<S::kAhead - 1>();
    sync_named(kStepBarrier, kThreads);
    const Operand* at = shared.slot[slot];
    if constexpr (S::kFetchesFirst) fetch_ahead<Step>(index);
    return at;
  }

  // Ends the step for this thread.
  template <int Step>
  __device__ __forceinline__ void end_step(int index) {
    if constexpr (!S::kFetchesFirst) fetch_ahead<Step>(index);
    slot = slot == S::kSlots - 1 ? 0 : slot + 1;
  }

 private:
  // Starts the fetch of the step that takes the place of the one before the last.
  template <int Step>
  __device__ __forceinline__ void fetch_ahead(int index) {
    constexpr int kFetched = Step + S::kAhead;
    fetch<kFetched % S::kSteps>(index + kFetched / S::kSteps,
                                slot < 2 ? slot + S::kSlots - 2 : slot - 2);
  }
};

}  // namespace gdr2::cuda::scan
