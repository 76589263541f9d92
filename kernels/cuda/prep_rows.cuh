// SPDX-License-Identifier: Apache-2.0
// Prep's slab: 64 channels of one chunk and head in shared memory. A warp owns a block of 8 rows of
// it and works on the rows where they lie: few values are in registers at a time, so that several
// CTAs share a multiprocessor. Rows past the tail and channels past K are zero, their g as well:
// neutral.
//
// Decays between rows of a block are running products of exp(g) (IEEE policy: exp of running sums
// of g). They only ever multiply or sum what lies between two rows, so nothing cancels, no exponent
// is positive, a decay of -inf is an exact zero, and no row sees a later one.
#pragma once

#include <type_traits>

#include "kernels/cuda/chunk_tile_copy.cuh"
#include "kernels/cuda/device/fragment.cuh"
#include "kernels/cuda/gate.cuh"

namespace gdr2::cuda {

constexpr int kBlockRows = 8;                 // rows of a block
constexpr int kBlocks = kChunk / kBlockRows;  // blocks, warps of a CTA
constexpr int kPrepThreads = kWarp * kBlocks;
constexpr int kSlab = 64;  // channels at a time

template <class T>
using Pair = Pack<T, 2>;
using BlockPairs = Pair<float>[kBlockRows];

// Chunk tiles [row, channel]. Each warp turns its rows into operands in place.
template <class Operand>
struct Slab {
  // q, then q with the decay from its block's start; b, then e = b k likewise.
  Operand q[kTileElements], b[kTileElements];
  // k, then k over the decay from its block's start.
  Operand k[kTileElements];
  // Raw g in its own type, DecayWalk::step(g) where scores are formed directly, then k with the
  // decay to its block's end.
  float g[kTileElements];
};

// This thread's share of a 64 x 64 tile of x.
template <class T>
__device__ __forceinline__ void fetch_tile(T* tile, const TokenTensor& x, const Chunk& chunk,
                                           int head, int channel, int channels, int thread) {
  constexpr int kUnit = 16 / sizeof(T), kUnits = kSlab / kUnit;
  const T* row = x.row<const T>(chunk.batch, chunk.token, head);
  if (x.vector) {
    const int r = thread / kUnits, c = thread % kUnits * kUnit;
    copy_rows_async<kPrepThreads / kUnits, kChunk>(tile + chunk_tile_at<T>(r, c), kChunk,
                                                   row + r * x.token + channel + c, x.token, r,
                                                   chunk.rows, channel + c < channels, row);
    return;
  }
  for (int i = thread; i < kTileElements; i += kPrepThreads) {
    const int r = i / kSlab, c = i % kSlab;
    tile[chunk_tile_at<T>(r, c)] =
        r < chunk.rows && channel + c < channels ? row[r * x.token + channel + c] : T{};
  }
}

template <class Operand>
__device__ __forceinline__ void fetch_slab(Slab<Operand>& slab, const DeviceProblem& p,
                                           const Chunk& chunk, int head, int channel) {
  const int thread = fresh_thread_index();
  fetch_tile(slab.q, p.q, chunk, head, channel, p.K, thread);
  fetch_tile(slab.k, p.k, chunk, head, channel, p.K, thread);
  fetch_tile(slab.b, p.b, chunk, head, channel, p.K, thread);
  if (p.g_dtype == GDR2_F32) {
    fetch_tile(slab.g, p.g, chunk, head, channel, p.K, thread);
  } else {  // both 16-bit types are moved as bits
    fetch_tile(reinterpret_cast<Bf16*>(slab.g), p.g, chunk, head, channel, p.K, thread);
  }
}

// Two neighbouring elements of a chunk tile.
template <class T>
__device__ __forceinline__ Pair<float> load_pair(const T* tile, int row, int column) {
  const T* source = tile + chunk_tile_at<T>(row, column);
  if constexpr (sizeof(T) == 2) {
    const uint32_t pair = *reinterpret_cast<const uint32_t*>(source);
    return {{low_of<T>(pair), high_of<T>(pair)}};
  } else {
    return *reinterpret_cast<const Pair<float>*>(source);
  }
}

// Rounded to 16 bits where T has 16.
template <class T>
__device__ __forceinline__ void store_two(T* target, const Pair<float>& x) {
  if constexpr (sizeof(T) == 2) {
    *reinterpret_cast<uint32_t*>(target) = pack2<T>(x[0], x[1]);
  } else {
    *reinterpret_cast<Pair<float>*>(target) = x;
  }
}
template <class T>
__device__ __forceinline__ void store_pair(T* tile, int row, int column, const Pair<float>& x) {
  store_two(tile + chunk_tile_at<T>(row, column), x);
}

__device__ __forceinline__ Pair<float> product(const Pair<float>& a, const Pair<float>& b) {
  return {{a[0] * b[0], a[1] * b[1]}};
}

__device__ __forceinline__ Pair<float> scaled(const Pair<float>& a, float x) {
  return {{a[0] * x, a[1] * x}};
}

// The raw log decays of this warp's block, lane l's channels 2l and 2l + 1.
template <class T>
__device__ __forceinline__ void load_block(BlockPairs& x, const T* tile, ThreadPlace at) {
#pragma unroll
  for (int r = 0; r < kBlockRows; ++r)
    x[r] = load_pair(tile, kBlockRows * at.warp + r, 2 * at.lane);
}

// The log decays; `channel` is the slab's first.
__device__ __forceinline__ void load_log_decays(BlockPairs& g, const float* tile,
                                                const DeviceProblem& p, int rows, int head,
                                                int channel, ThreadPlace at) {
  if (p.g_dtype == GDR2_F32) {
    load_block(g, tile, at);
  } else if (p.g_dtype == GDR2_BF16) {
    load_block(g, reinterpret_cast<const Bf16*>(tile), at);
  } else {
    load_block(g, reinterpret_cast<const Fp16*>(tile), at);
  }
  if (p.gate == GDR2_GATE_LOG) return;
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    const int of = channel + 2 * at.lane + c;
    const Gate gate = gate_at(p, head, of < p.K ? of : 0);
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r)
      g[r][c] = of < p.K && kBlockRows * at.warp + r < rows ? log_decay(gate, g[r][c]) : 0.0f;
  }
}

// A decay that grows row by row. `step` is what a row contributes: exp(g), or g in the IEEE policy.
template <class P>
struct DecayWalk {
  static constexpr bool kLog = std::is_same_v<P, Fp32Products>;
  float sum_or_product = kLog ? 0.0f : 1.0f;

  static __device__ __forceinline__ float exp(float g) { return kLog ? exp_(g) : fast_exp(g); }
  static __device__ __forceinline__ float step(float g) { return kLog ? g : fast_exp(g); }
  __device__ __forceinline__ void pass(float step) {
    sum_or_product = kLog ? sum_or_product + step : sum_or_product * step;
  }
  __device__ __forceinline__ float value() const {
    return kLog ? exp_(sum_or_product) : sum_or_product;
  }
};

// 1 / norm of this warp's rows of q (lanes 0 .. 7) and k (lanes 8 .. 15), from memory.
template <class Operand>
__device__ __forceinline__ float inverse_norms(const DeviceProblem& p, const Chunk& chunk,
                                               int head) {
  float mine = 0.0f;
#pragma unroll
  for (int i = 0; i < 2 * kBlockRows; ++i) {
    const TokenTensor& x = i < kBlockRows ? p.q : p.k;
    const int row = kBlockRows * warp_index() + i % kBlockRows;
    float sum = 0.0f;
    if (row < chunk.rows) {
      const Operand* at = x.row<const Operand>(chunk.batch, chunk.token + row, head);
      for (int c = lane_index(); c < p.K; c += kWarp)
        sum = fma_(to_float(at[c]), to_float(at[c]), sum);
    }
    sum = warp_sum(sum);
    if (lane_index() == i) mine = sum;
  }
  return 1.0f / sqrt_(mine + p.l2norm_eps);
}

}  // namespace gdr2::cuda
