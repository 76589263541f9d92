// SPDX-License-Identifier: Apache-2.0
// The scans in IEEE fp32 (scan_fp32.cu, reverse_scan_fp32.cu) share a shape: one CTA a sequence,
// value head and 32 columns of V, fused multiply-adds on shared memory instead of tensor cores, the
// state [KP, 32] in shared memory. The records' tiles pass through a ring one by one. A thread owns
// 4 rows by 2 columns of every product.
#pragma once

#include "kernels/cuda/chunk_tile_copy.cuh"

namespace gdr2::cuda::fp32 {

constexpr int kThreads = 256;
constexpr int kColumns = 32;
constexpr int kSlots = 4;

using Sums = Pack<float, 2>[4];  // of rows row() .. row() + 3, columns column(), column() + 1

__device__ __forceinline__ int row() { return thread_index() / 16 * 4; }
__device__ __forceinline__ int column() { return thread_index() % 16 * 2; }

__device__ __forceinline__ Pack<float, 2>& pair_at(float* matrix, int row, int column) {
  return *reinterpret_cast<Pack<float, 2>*>(matrix + row * kColumns + column);
}
__device__ __forceinline__ Pack<float, 4> four_at(const float* tile, int row, int column) {
  return *reinterpret_cast<const Pack<float, 4>*>(tile + chunk_tile_at<float>(row, column));
}

__device__ __forceinline__ void add_product(Pack<float, 2>& sum, float a, const Pack<float, 2>& b) {
  sum[0] = fma_(a, b[0], sum[0]);
  sum[1] = fma_(a, b[1], sum[1]);
}

// sums += tile right
__device__ __forceinline__ void multiply_rows(Sums& sums, const float* tile, float* right) {
#pragma unroll 4
  for (int k = 0; k < kChunk; k += 4) {
    Pack<float, 4> a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = four_at(tile, row() + i, k);
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) add_product(sums[i], a[i][n], pair_at(right, k + n, column()));
  }
}

// sums += tile^T right
__device__ __forceinline__ void multiply_columns(Sums& sums, const float* tile, float* right) {
#pragma unroll 4
  for (int k = 0; k < kChunk; ++k) {
    const Pack<float, 4> a = four_at(tile, k, row());
#pragma unroll
    for (int i = 0; i < 4; ++i) add_product(sums[i], a[i], pair_at(right, k, column()));
  }
}

// What the CTA works on.
struct Work {
  int64_t n;
  Sequence sequence;
  int32_t hv, h, first_column;
};

__device__ __forceinline__ Work work_of(const DeviceProblem& p, int value_blocks) {
  const int64_t parts = value_blocks * kChunk / kColumns, block = block_index().x;
  Work w;
  w.hv = static_cast<int32_t>(block / parts % p.HV);
  w.h = w.hv / p.group;
  w.n = block / parts / p.HV;
  w.sequence = sequence_at(p, w.n);
  w.first_column = static_cast<int32_t>(block % parts) * kColumns;
  return w;
}

template <class Function>
__device__ __forceinline__ void for_each_state(int channels, const Function& function) {
  for (int i = thread_index(); i < channels * kColumns; i += kThreads)
    function(i / kColumns, i % kColumns);
}

// Absent counts as zeros.
template <int KB>
__device__ __forceinline__ void load_state(float* state, const StateTensor& from,
                                           const DeviceProblem& p, const Work& work) {
  const float* matrix = from.data == nullptr ? nullptr : from.matrix(work.n, work.hv);
  for_each_state(KB * kChunk, [&](int c, int column) {
    const int v = work.first_column + column;
    state[c * kColumns + column] =
        matrix != nullptr && c < p.K && v < p.V ? matrix[c * from.k + v * from.v] : 0.0f;
  });
}

__device__ __forceinline__ void store_state(const StateTensor& to, const float* state,
                                            const DeviceProblem& p, const Work& work) {
  if (to.data == nullptr) return;
  float* matrix = to.matrix(work.n, work.hv);
  for_each_state(p.K, [&](int c, int column) {
    const int v = work.first_column + column;
    if (v < p.V) matrix[c * to.k + v * to.v] = state[c * kColumns + column];
  });
}

__device__ __forceinline__ void store_sums(float* matrix, const Sums& sums) {
#pragma unroll
  for (int i = 0; i < 4; ++i) pair_at(matrix, row() + i, column()) = sums[i];
}

// Writes the state, transposed, to the tiles of (chunk, value head), `tile_of(vb, kb)`, and to a
// stage; both may be absent.
template <int KB, class TileOf>
__device__ __forceinline__ void keep_state(const float* state, const DeviceProblem& p,
                                           const StageTensor& stage, int64_t c, const Work& work,
                                           bool keep, const TileOf& tile_of) {
  if (!keep && stage.data == nullptr) return;
  for_each_state(KB * kChunk, [&](int channel, int column) {
    const int v = work.first_column + column;
    const float x = state[channel * kColumns + column];
    if (keep)
      tile_of(v / kChunk, channel / kChunk)[chunk_tile_at<float>(v % kChunk, channel % kChunk)] = x;
    if (stage.data != nullptr && channel < p.K && v < p.V)
      stage.at(c, work.hv)[channel * stage.row + v * stage.column] = x;
  });
}

// Likewise rows [64, columns] to the tile of their value block.
__device__ __forceinline__ void keep_rows(const Sums& r, const DeviceProblem& p,
                                          const StageTensor& stage, int64_t c, const Work& work,
                                          float* tile) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int v = work.first_column + column() + j, t = row() + i;
      if (tile != nullptr) tile[chunk_tile_at<float>(v % kChunk, t)] = r[i][j];
      if (stage.data != nullptr && v < p.V)
        stage.at(c, work.hv)[t * stage.row + v * stage.column] = r[i][j];
    }
}

// The ring: `tile_of(step)` says which tile comes at a step, null past the last one. Every next()
// is a barrier of the CTA.
template <class TileOf>
class Ring {
 public:
  __device__ __forceinline__ Ring(float (*slot)[kTileElements], const TileOf& tile_of)
      : slot_(slot), tile_of_(tile_of) {
    while (fetched_ < kSlots - 1) fetch();
  }
  __device__ __forceinline__ const float* next() {
    copy_wait<kSlots - 2>();
    sync_threads();
    fetch();
    return slot_[fetched_ % kSlots];
  }

 private:
  __device__ __forceinline__ void fetch() {
    const float* tile = tile_of_(fetched_);
    if (tile != nullptr) copy_tile_async<kThreads>(slot_[fetched_ % kSlots], tile, thread_index());
    copy_commit();
    ++fetched_;
  }
  float (*slot_)[kTileElements];
  TileOf tile_of_;
  int64_t fetched_ = 0;
};

}  // namespace gdr2::cuda::fp32
