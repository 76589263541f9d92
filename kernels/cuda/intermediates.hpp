// SPDX-License-Identifier: Apache-2.0
// What one kernel of a pass leaves in memory for the next one, and what forward keeps for backward.
//
// Everything is cut into chunk tiles: 64 x 64 elements, contiguous, the 16-byte units of a row
// permuted by the row (chunk_tile_at), so that a tile in memory is the image of the tile in shared
// memory, bank conflicts avoided, and one plain copy moves it. Elements are the product policy's
// operands: rounded to bf16 / fp16 / tf32, or fp32. chunk_tile.cuh reads and writes fragments of
// such tiles.
//
// By global chunk c (chunk_index.hpp) and query/key head h, one record of 3 KB + 2 tiles, KB = KP /
// 64 blocks of channels (KP = K padded to 64, 128 or 256), in the order in which the forward scan
// uses them:
//
//     y(kb)    [64 token, 64 channel]   A Ebar, Ebar = b k gamma  (docs/MATH.md 4; b doubled with
//                                       neg_eigval)
//     qg(kb)   [64 token, 64 channel]   q gamma             (no scale; q, k normalised with l2norm)
//     a        [64, 64]                 (I + T)^-1          (zeros above the diagonal)
//     aqk      [64, 64]                 scores of q and k   (zeros above the diagonal; no scale)
//     kt(kb)   [64 token, 64 channel]   k exp(G_C - G)
//
// beside it the decay of the whole chunk gamma_C [KP] in fp32 and, for the backward, the inverse norms
// of q and k. By value head, VB = ceil(V / 64)
// blocks of columns, both transposed, as the scan holds them:
//
//     h(vb, kb) [64 value column, 64 channel]   S^T entering the chunk
//     r(vb)     [64 value column, 64 token]     R^T
//
// Rows past a sequence's tail, channels past K and columns past V are zero everywhere (gamma_C:
// one). Tiles of chunk indices past the last chunk (the bound of a packed batch) are not written.
#pragma once

#include "kernels/cuda/problem.cuh"
#include "kernels/cuda/workspace.hpp"

namespace gdr2::cuda {

constexpr int kTileElements = kChunk * kChunk;

// Element (row, column) of a chunk tile of T. The permutation keeps clear of bank conflicts: for 16
// bits 8 rows of one unit (ldmatrix); for fp32 the same pair or element in 4 neighbouring or every
// second of 8 rows.
template <class T>
__host__ __device__ __forceinline__ constexpr int chunk_tile_at(int row, int column) {
  constexpr int kUnit = 16 / sizeof(T);
  const int permutation = sizeof(T) == 2 ? row % 8 : (row & 2) | (((row ^ (row >> 2)) & 1) << 2);
  return row * kChunk + ((column / kUnit) ^ permutation) * kUnit + column % kUnit;
}

template <class T>
struct PlaceInTile {
  __host__ __device__ __forceinline__ int operator()(int r, int c) const {
    return chunk_tile_at<T>(r, c);
  }
};

// Which tile of a record is which.
struct RecordTiles {
  int kb;  // KP / 64
  __host__ __device__ constexpr int y(int i) const { return 2 * i; }
  __host__ __device__ constexpr int qg(int i) const { return 2 * i + 1; }
  __host__ __device__ constexpr int a() const { return 2 * kb; }
  __host__ __device__ constexpr int aqk() const { return 2 * kb + 1; }
  __host__ __device__ constexpr int kt(int i) const { return 2 * kb + 2 + i; }
  __host__ __device__ constexpr int count() const { return 3 * kb + 2; }
};

// KP / 64 and ceil(V / 64).
__host__ __device__ constexpr int key_blocks(int64_t K) { return K <= 64 ? 1 : K <= 128 ? 2 : 4; }
__host__ __device__ constexpr int value_blocks(int64_t V) {
  return static_cast<int>((V + kChunk - 1) / kChunk);
}

template <class Operand>
struct Intermediates {
  Operand* records;     // [chunks, H, count(), 64, 64]
  float* chunk_decay;   // [chunks, H, KP]
  float* inverse_norm;  // [chunks, H, 2, 64] of rows of q and k, null: not kept
  Operand* h;           // [chunks, HV, VB, KB, 64, 64], null: not kept
  Operand* r;           // [chunks, HV, VB, 64, 64], null: not kept
  // What rounding took from aqk, times kRestScale.
  Operand* aqk_rest;  // [chunks, H, 64, 64], null: not kept
  int32_t H, HV, kb, vb;

  __host__ __device__ RecordTiles tiles() const { return {kb}; }
  __host__ __device__ Operand* record(int64_t chunk, int64_t head) const {
    return records + (chunk * H + head) * tiles().count() * kTileElements;
  }
  __host__ __device__ Operand* record_tile(int64_t chunk, int64_t head, int tile) const {
    return record(chunk, head) + static_cast<int64_t>(tile) * kTileElements;
  }
  // Of q; 64 further of k.
  __host__ __device__ float* norms(int64_t chunk, int64_t head) const {
    return inverse_norm + (chunk * H + head) * 2 * kChunk;
  }
  __host__ __device__ float* decay(int64_t chunk, int64_t head) const {
    return chunk_decay + (chunk * H + head) * kb * kChunk;
  }
  __host__ __device__ Operand* h_tile(int64_t chunk, int64_t value_head, int v, int k) const {
    return h + (((chunk * HV + value_head) * vb + v) * kb + k) * kTileElements;
  }
  __host__ __device__ Operand* aqk_rest_tile(int64_t chunk, int64_t head) const {
    return aqk_rest + (chunk * H + head) * kTileElements;
  }
  __host__ __device__ Operand* r_tile(int64_t chunk, int64_t value_head, int v) const {
    return r + ((chunk * HV + value_head) * vb + v) * kTileElements;
  }
};

// Records and decays; `states`: what the backward needs as well, h, r, with l2norm the inverse norms
// and (16-bit operands) aqk_rest.
template <class Operand>
Intermediates<Operand> place_intermediates(const DeviceProblem& p, Workspace& workspace,
                                           bool states) {
  Intermediates<Operand> m{};
  m.H = p.H;
  m.HV = p.HV;
  m.kb = key_blocks(p.K);
  m.vb = value_blocks(p.V);
  m.records = workspace.take<Operand>(p.chunk_bound * p.H * m.tiles().count() * kTileElements);
  m.chunk_decay = workspace.take<float>(p.chunk_bound * p.H * m.kb * kChunk);
  if (!states) return m;
  m.h = workspace.take<Operand>(p.chunk_bound * p.HV * m.vb * m.kb * kTileElements);
  m.r = workspace.take<Operand>(p.chunk_bound * p.HV * m.vb * kTileElements);
  if (p.l2norm) m.inverse_norm = workspace.take<float>(p.chunk_bound * p.H * 2 * kChunk);
  if (sizeof(Operand) == 2)
    m.aqk_rest = workspace.take<Operand>(p.chunk_bound * p.H * kTileElements);
  return m;
}

// An exported stage [chunks, heads, rows, columns] in fp32; null: not wanted.
struct StageTensor {
  float* data;
  int64_t chunk, head, row, column;

  __host__ __device__ float* at(int64_t c, int64_t h) const { return data + c * chunk + h * head; }
};

inline StageTensor stage_tensor(const gdr2_tensor& t) {
  return {static_cast<float*>(t.data), t.stride[0], t.stride[1], t.stride[2], t.stride[3]};
}

}  // namespace gdr2::cuda
