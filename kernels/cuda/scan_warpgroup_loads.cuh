// SPDX-License-Identifier: Apache-2.0
// The warpgroup scan's shared memory and what flows into it. Records arrive by bulk copies, two
// neighbouring tiles a step, in a ring of slots that a warp of its own keeps full: as soon as a
// slot's tiles are used, it starts the copy that takes their place. A warpgroup of carriers moves
// what has strided rows: v and w in, of which it makes Z, and o out.
#pragma once

#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/scan_loads.cuh"

namespace gdr2::cuda::scan {

// As Shape; here a CTA has a multiprocessor to itself: two warpgroups, the carriers and a fourth one of
// which one thread feeds them. All slots of the ring are under way or in use.
template <class Products, int KeyBlocks, int Strips>
struct WarpgroupShape {
  using P = Products;
  using Operand = typename P::Operand;
  static constexpr int kKeyBlocks = KeyBlocks, kStrips = Strips, kColumns = Strips * kTile;
  static constexpr int kSolve = KeyBlocks, kSteps = KeyBlocks + 1 + (KeyBlocks + 1) / 2;
  static constexpr int tiles(int step) { return KeyBlocks == 1 && step == kSteps - 1 ? 1 : 2; }

  static constexpr int kThreads = 4 * kWarpgroup;
  static constexpr int kFeederRegisters = 24, kCarrierRegisters = Strips == 8 ? 40 : 56;
  static constexpr int kRegisters =
      (512 - kCarrierRegisters - kFeederRegisters) / 2;  // all there are
  static constexpr int kSlots = Strips == 2 ? 10 : Strips == 4 ? 8 : 6;
  static constexpr int kValueBuffers = Strips == 2 ? 4 : Strips == 4 ? 2 : 1;
  // The decay comes with the solve step and is used before that chunk's first slots are free; one
  // buffer more, so that nothing is written while a warp may still be about to leave its reading.
  static constexpr int kDecayBuffers = (kSlots + kSteps - 1 - kSolve) / kSteps + 1;
  static_assert(kSteps <= kSlots);
};

// What the warps of a chunk wait for; one phase a chunk. Who waits for a phase has a part in the next
// one, so that none is missed.
struct Meetings {
  Transfer state_stands;   // S as operand, by both warpgroups
  Transfer targets_stand;  // Z as operands, by the carriers
  Transfer targets_read;   // by the first
  Transfer rows_stand;     // R as operand, by the first, which has read S
  Transfer state_read;     // by the second, and kept by the feeder
  Transfer rows_read;      // by the second, and kept by the feeder
  // Ordinary loads follow ordinary stores here, so every thread arrives for itself.
  Transfer output_stands;  // by the second
  Transfer output_read;    // by the carriers

  __device__ __forceinline__ void start() {
    constexpr int kWarps = kWarpgroup / kWarp;
    start_transfer(state_stands, 2 * kWarps);
    start_transfer(targets_stand, kWarps);
    start_transfer(targets_read, kWarps);
    start_transfer(rows_stand, kWarps);
    start_transfer(state_read, kWarps + 1);
    start_transfer(rows_read, kWarps + 1);
    start_transfer(output_stands, kWarpgroup);
    start_transfer(output_read, kWarpgroup);
  }
};

template <class S>
struct WarpgroupShared {
  using Operand = typename S::Operand;
  alignas(1024) Operand slot[S::kSlots][2 * kTileElements];
  Operand state[S::kKeyBlocks][S::kColumns * kChunk];  // S^T as operand: [column, channel]
  Operand r[S::kColumns * kChunk];                     // R^T: [column, token]
  Operand z[S::kColumns * kChunk], z_rest[S::kColumns * kChunk];  // Z^T in two terms
  struct Values {
    Operand v[kTileElements / 4 * S::kStrips], w[kTileElements / 4 * S::kStrips];
  } values[S::kValueBuffers];       // [token, column], see value_at
  Operand o[S::kColumns * kChunk];  // likewise
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

// 8 elements whose address allows no 16-byte access, in the widest pieces that it does; those past
// `columns` are zero.
template <class T>
GDR2_NOINLINE __device__ void copy_unaligned_unit(T* target, const T* source, int aligned,
                                                  int columns) {
  const int step = elements_of_piece<T>(aligned);
#pragma unroll 1
  for (int i = 0; i < 8; i += step) {
    const bool valid = i < columns;
    copy_unaligned_piece(target + i, valid ? source + i : source, aligned, valid);
  }
}

template <class T>
GDR2_NOINLINE __device__ void store_unaligned_unit(T* target, const T* unit, int columns) {
#pragma unroll 1
  for (int i = 0; i < 8 && i < columns; ++i) target[i] = unit[i];
}

// A carrier warp's 16 tokens: v and w in, chunk after chunk, each chunk one group; o out. A lane has
// half of a row of every strip.
template <class S>
struct Carrier {
  using Operand = typename S::Operand;
  WarpgroupShared<S>& shared;
  const DeviceProblem& p;
  int row, columns, place;  // of strip 0: in the chunk, left of V, in a value tile
  const Operand *v, *w;
  Operand* o;
  int fetched = 0;  // chunks

  __device__ __forceinline__ Carrier(WarpgroupShared<S>& shared, const DeviceProblem& p, int token)
      : shared(shared), p(p) {
    const Work& work = shared.work;
    const int lane = lane_index(), column = work.first_column + lane % 2 * 8;
    row = token + lane / 2;
    columns = p.V - column;
    place = value_at<S>(row, lane % 2 * 8);
    const int64_t first = work.sequence.token + row;
    v = p.v.row<const Operand>(work.sequence.batch, first, work.hv) + column;
    w = p.w.row<const Operand>(work.sequence.batch, first, work.hv) + column;
    o = p.o.row<Operand>(work.sequence.batch, first, work.hv) + column;
  }

  // The next chunk's v and w, zero past the tail and past V.
  __device__ __forceinline__ void fetch() {
    if (fetched < shared.work.chunks) {  // a group in any case
      auto& values = shared.values[fetched % S::kValueBuffers];
      fetch_rows(values.v, p.v, v);
      fetch_rows(values.w, p.w, w);
    }
    ++fetched;
    copy_commit();
  }

  // Chunk `index` of o; chunk after chunk.
  __device__ __forceinline__ void store(int index) {
    const bool valid = row < shared.work.rows(index);
#pragma unroll 2
    for (int s = 0; s < S::kStrips; ++s) {
      const Operand* unit = shared.o + (place ^ s * kTile);
      if (!valid || columns <= s * kTile) continue;
      if (p.o.vector) {
        *reinterpret_cast<Pack16*>(o + s * kTile) = *reinterpret_cast<const Pack16*>(unit);
      } else {
        store_unaligned_unit(o + s * kTile, unit, columns - s * kTile);
      }
    }
    o += kChunk * p.o.token;
  }

 private:
  __device__ __forceinline__ void fetch_rows(Operand* tile, const TokenTensor& x,
                                             const Operand*& source) const {
    const bool inside = row < shared.work.rows(fetched);
    const Operand* live = static_cast<const Operand*>(x.data);
#pragma unroll 2
    for (int s = 0; s < S::kStrips; ++s) {
      Operand* target = tile + (place ^ s * kTile);
      const bool valid = inside && columns > s * kTile;
      if (x.vector) {
        copy_async_16(target, valid ? source + s * kTile : live, valid);
      } else {
        copy_unaligned_unit(target, valid ? source + s * kTile : live, x.aligned,
                            valid ? columns - s * kTile : 0);
      }
    }
    source += kChunk * x.token;
  }
};

}  // namespace gdr2::cuda::scan
