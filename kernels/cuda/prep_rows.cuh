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
#include "kernels/cuda/tile.cuh"

namespace gdr2::cuda {

constexpr int kBlockRows = 8;                 // rows of a block
constexpr int kBlocks = kChunk / kBlockRows;  // blocks, warps of a CTA
constexpr int kPrepThreads = kWarp * kBlocks;
constexpr int kSlab = 64;  // channels at a time

template <class T>
using Pair = Pack<T, 2>;
using BlockPairs = Pair<float>[kBlockRows];

// Rows [row, channel] as they come from memory. Each warp turns its rows into operands in place,
// chunk tiles then (q, b and k with operand_column's order of channels).
template <class Operand>
struct Slab {
  // q, then q with the decay from its block's start; b, then e = b k likewise.
  Operand q[kTileElements], b[kTileElements];
  // k, then k over the decay from its block's start.
  Operand k[kTileElements];
  // Raw g in its own type, DecayWalk::step(g) where scores are formed directly, what rounding took
  // from q and e, then k with the decay to its block's end.
  float g[kTileElements];
};

struct PlaceInRows {
  __device__ __forceinline__ int operator()(int r, int c) const { return r * kSlab + c; }
};

// This thread's share of 64 x 64 elements of x, as rows. whole: none is past the tail or past K.
template <class T>
__device__ __forceinline__ void fetch_rows(T* rows, const TokenTensor& x, const Chunk& chunk,
                                           int head, int channel, int channels, bool whole,
                                           Keep keep, int thread) {
  constexpr int kUnit = 16 / sizeof(T), kUnits = kSlab / kUnit, kStep = kPrepThreads / kUnits;
  const T* row = x.row<const T>(chunk.batch, chunk.token, head);
  if (x.vector) {
    const int r = thread / kUnits, c = channel + thread % kUnits * kUnit;
    const T* source = row + r * x.token + c;
    if (whole) {
      copy_async_rows<kChunk / kStep, 16 * kPrepThreads>(rows + thread * kUnit, source,
                                                         not_hoisted(kStep * x.token), keep);
    } else {
      copy_rows_async<kStep, kChunk>(rows + thread * kUnit, kSlab, source, x.token, r, chunk.rows,
                                     c < channels, row);
    }
    return;
  }
  copy_unaligned_rows<kSlab, kPrepThreads, PlaceInRows>(rows, row + channel, x.token, x.aligned,
                                                        chunk.rows, channels - channel, thread);
}

template <class Operand>
__device__ __forceinline__ void fetch_slab(Slab<Operand>& slab, const DeviceProblem& p,
                                           const Chunk& chunk, int head, int channel) {
  const int thread = fresh_thread_index();
  const bool whole = chunk.rows == kChunk && channel + kSlab <= p.K;
  // q and k are read once more where their norms are formed.
  const Keep keep = p.l2norm ? Keep::kNormally : Keep::kBriefly;
  fetch_rows(slab.q, p.q, chunk, head, channel, p.K, whole, keep, thread);
  fetch_rows(slab.k, p.k, chunk, head, channel, p.K, whole, keep, thread);
  fetch_rows(slab.b, p.b, chunk, head, channel, p.K, whole, Keep::kBriefly, thread);
  if (p.g_dtype == GDR2_F32) {
    fetch_rows(slab.g, p.g, chunk, head, channel, p.K, whole, Keep::kBriefly, thread);
  } else {  // both 16-bit types are moved as bits
    fetch_rows(reinterpret_cast<Bf16*>(slab.g), p.g, chunk, head, channel, p.K, whole,
               Keep::kBriefly, thread);
  }
}

__device__ __forceinline__ Pack<float, 4> load_four(const float* source) {
  return *reinterpret_cast<const Pack<float, 4>*>(source);
}

// Two neighbouring elements.
template <class T>
__device__ __forceinline__ Pair<float> load_pair(const T* source) {
  if constexpr (sizeof(T) == 2) {
    const uint32_t pair = *reinterpret_cast<const uint32_t*>(source);
    return {{low_of<T>(pair), high_of<T>(pair)}};
  } else {
    return *reinterpret_cast<const Pair<float>*>(source);
  }
}

// Rounded to 16 bits where T has 16.
template <class T>
__device__ __forceinline__ void store_pair(T* target, const Pair<float>& x) {
  if constexpr (sizeof(T) == 2) {
    *reinterpret_cast<uint32_t*>(target) = pack2<T>(x[0], x[1]);
  } else {
    *reinterpret_cast<Pair<float>*>(target) = x;
  }
}

// x as the sum of two operands, to `high` and (times kRestScale) `rest`.
template <class T>
__device__ __forceinline__ void store_split(T* high, T* rest, const Pair<float>& x) {
  const uint32_t rounded = pack2<T>(x[0], x[1]);
  *reinterpret_cast<uint32_t*>(high) = rounded;
  store_pair(rest, {{kRestScale<T> * (x[0] - low_of<T>(rounded)),
                     kRestScale<T> * (x[1] - high_of<T>(rounded))}});
}

// Lane l works on channels 2l and 2l + 1 of its warp's 8 rows: where they start among 64 x 64 rows,
// and from there row r's place in rows and in a chunk tile.
__device__ __forceinline__ int lane_origin(ThreadPlace at) {
  return kBlockRows * kSlab * at.warp + 2 * at.lane;
}
__device__ __forceinline__ int place_in_rows(int origin, int r) { return origin + r * kSlab; }
template <class T>
__device__ __forceinline__ int place_in_tile(int origin, int r) {
  return (origin ^ (chunk_tile_at<T>(r, 0) % kChunk)) + r * kChunk;
}

// A product over channels may take them in any order: in the tiles of operands of scores, the pairs
// of 16 channels stand as 0 2 4 6 1 3 5 7, so that a lane of a product, which has the pairs t and t +
// 4 of them, has four neighbouring channels. Where lane l's pair stands in row 0.
__device__ __forceinline__ int operand_column(int lane) {
  return (lane & 24) * 2 + (lane & 1) * 8 + (lane & 6);
}

__device__ __forceinline__ Pair<float> product(const Pair<float>& a, const Pair<float>& b) {
  return {{a[0] * b[0], a[1] * b[1]}};
}

__device__ __forceinline__ Pair<float> scaled(const Pair<float>& a, float x) {
  return {{a[0] * x, a[1] * x}};
}

template <class T>
__device__ __forceinline__ void load_block(BlockPairs& x, const T* rows, ThreadPlace at) {
#pragma unroll
  for (int r = 0; r < kBlockRows; ++r) x[r] = load_pair(rows + place_in_rows(lane_origin(at), r));
}

// The log decays; `channel` is the slab's first.
__device__ __forceinline__ void load_log_decays(BlockPairs& g, const float* given,
                                                const DeviceProblem& p, int rows, int head,
                                                int channel, ThreadPlace at) {
  if (p.g_dtype == GDR2_F32) {
    load_block(g, given, at);
  } else if (p.g_dtype == GDR2_BF16) {
    load_block(g, reinterpret_cast<const Bf16*>(given), at);
  } else {
    load_block(g, reinterpret_cast<const Fp16*>(given), at);
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

// The sum of squares of row `row` of x, of which this lane reads every fourth 16 bytes. The order of
// the sum does not depend on how x may be read.
template <class Operand>
__device__ __forceinline__ float sum_of_squares(const TokenTensor& x, const Chunk& chunk, int row,
                                                int head, int K, int lane) {
  constexpr int kUnit = 16 / sizeof(Operand);
  if (row >= chunk.rows) return 0.0f;
  const Operand* from = x.row<const Operand>(chunk.batch, chunk.token + row, head);
  float sum = 0.0f;
#pragma unroll 4
  for (int c = lane % 4 * kUnit; c < K; c += 4 * kUnit) {
    float part[kUnit];
    load_channels(part, from, c, K, x.vector != 0);
#pragma unroll
    for (int i = 0; i < kUnit; ++i) sum = fma_(part[i], part[i], sum);
  }
  return sum;
}

// 1 / norm of this warp's rows of q (lanes 0 .. 7) and k (lanes 8 .. 15), from memory.
template <class Operand>
__device__ __forceinline__ float inverse_norms(const DeviceProblem& p, const Chunk& chunk,
                                               int head) {
  const ThreadPlace at = ThreadPlace::here();
  const int row = kBlockRows * at.warp + at.lane / 4;
  float q = sum_of_squares<Operand>(p.q, chunk, row, head, p.K, at.lane),
        k = sum_of_squares<Operand>(p.k, chunk, row, head, p.K, at.lane);
#pragma unroll
  for (int mask = 1; mask < 4; mask *= 2) {
    q += shuffle_xor(q, mask);
    k += shuffle_xor(k, mask);
  }
  const int source = at.lane % kBlockRows * 4;
  q = shuffle(q, source);
  k = shuffle(k, source);
  return 1.0f / sqrt_((at.lane < kBlockRows ? q : k) + p.l2norm_eps);
}

// Lanes as inverse_norms leaves them.
__device__ __forceinline__ void store_inverse_norms(float* norms, float norm) {
  const ThreadPlace at = ThreadPlace::here();
  if (at.lane < 2 * kBlockRows)
    norms[at.lane / kBlockRows * kChunk + kBlockRows * at.warp + at.lane % kBlockRows] = norm;
}

}  // namespace gdr2::cuda
