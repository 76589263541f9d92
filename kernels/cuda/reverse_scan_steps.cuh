// SPDX-License-Identifier: Apache-2.0
// The reverse scan's arithmetic, a warp's part of each product (docs/MATH.md, chunk backward).
// Everything is held transposed, [column of V, channel or token], so that results in registers have
// the layout of the operands that they become. Between the products dS, dR and P pass through
// shared memory, rounded to the operand type there and nowhere else.
#pragma once

#include "kernels/cuda/chunk_tile.cuh"
#include "kernels/cuda/device/mma.cuh"
#include "kernels/cuda/reverse_scan_loads.cuh"

namespace gdr2::cuda::reverse_scan {

// sums += dS^T Kt^T for 16 tokens and the strip at `column`, over a block of 64 channels.
template <class S>
__device__ __forceinline__ void add_state_cotangent(Accumulator& sums,
                                                    const typename S::Operand* ds,
                                                    const typename S::Operand* kt, int token,
                                                    int column) {
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile)
    multiply<typename S::P>(sums, tile_fragment(ds, column, k), right_tile(kt, token, k));
}

// sums += rest / kRestScale, where the products with rests were summed apart.
template <class Operand>
constexpr bool kRestsApart = kRestScale<Operand> != 1.0f;
template <class Operand>
__device__ __forceinline__ void add_rest_sums(Accumulator& sums, const Accumulator& rests) {
  if constexpr (kRestsApart<Operand>)
#pragma unroll
    for (int e = 0; e < 8; ++e) sums.x[e] = fma_(1 / kRestScale<Operand>, rests.x[e], sums.x[e]);
}

// sums += scale dO^T Aqk for 16 tokens; Aqk is lower triangular, with S::kRests the sum of two
// operands: where a key comes again and again, P = A^T dR is a small difference of rows of dR, and
// what rounding Aqk would do to them.
template <class S>
__device__ __forceinline__ void add_score_cotangent(Accumulator& sums,
                                                    const typename S::Operand* d_o,
                                                    const typename S::Operand* aqk,
                                                    const typename S::Operand* aqk_rest,
                                                    float scale, int token, int column) {
  using Operand = typename S::Operand;
  Accumulator scores, rests;
  clear(scores);
  clear(rests);
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile) {
    if (k < token) continue;
    const auto row = load_transposed(d_o + k * S::kRowLd + column, S::kRowLd);
    multiply<typename S::P>(scores, row, right_tile_transposed(aqk, k, token));
    if constexpr (S::kRests)
      multiply<typename S::P>(kRestsApart<Operand> ? rests : scores, row,
                              right_tile_transposed(aqk_rest, k, token));
  }
  add_rest_sums<Operand>(scores, rests);
#pragma unroll
  for (int e = 0; e < 8; ++e) sums.x[e] = fma_(scale, scores.x[e], sums.x[e]);
}

// The unit matrix, as left operand.
template <class Operand>
__device__ __forceinline__ Fragment<Operand> unit_tile() {
  Accumulator one;
#pragma unroll
  for (int e = 0; e < 8; ++e) one.x[e] = tile_row(e) == tile_col(e) ? 1.0f : 0.0f;
  return to_operand<Operand>(one);
}

// What rounding took from dR, left in `dr`, as operand for everyone where P has it in two terms.
template <class S>
__device__ __forceinline__ void publish_rest(typename S::Operand* rows, Accumulator& dr, int column,
                                             int token) {
  using Operand = typename S::Operand;
  dr = rest_of<typename S::P>(dr);
  if constexpr (S::kRests) {
    Accumulator scaled;
#pragma unroll
    for (int e = 0; e < 8; ++e) scaled.x[e] = kRestScale<Operand> * dr.x[e];
    store_tile_fragment(rows, column, token, to_operand<Operand>(scaled));
  }
}

// P^T = dR^T A and P for 16 tokens: one fragment of A serves as right operand of the one and as
// left operand of the other. With S::kRests dR is the sum of two operands, for the reason of Aqk's
// two; otherwise P starts from what rounding took from its own tokens of dR (in pt), since A's
// diagonal is one.
template <class S>
__device__ __forceinline__ void solve_transposed(Accumulator& pt, Accumulator& p,
                                                 const typename S::Operand* dr,
                                                 const typename S::Operand* dr_rest,
                                                 const typename S::Operand* a, int token,
                                                 int column) {
  using P = typename S::P;
  using Operand = typename S::Operand;
  Accumulator rests_t, rests;
  clear(p);
  if constexpr (S::kRests) {
    clear(pt);
    clear(rests_t);
    clear(rests);
  } else {
    multiply<P>(p, unit_tile<Operand>(), to_operand<Operand>(pt));
  }
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile) {
    if (k < token) continue;  // A is lower triangular
    const auto a_transposed = tile_fragment_transposed(a, k, token),
               row = tile_fragment(dr, column, k);
    multiply<P>(pt, row, a_transposed);
    multiply<P>(p, a_transposed, row);
    if constexpr (S::kRests) {
      const auto rest = tile_fragment(dr_rest, column, k);
      multiply<P>(kRestsApart<Operand> ? rests_t : pt, rest, a_transposed);
      multiply<P>(kRestsApart<Operand> ? rests : p, a_transposed, rest);
    }
  }
  add_rest_sums<Operand>(pt, rests_t);
  add_rest_sums<Operand>(p, rests);
}

// ds = ds gamma_C + scale dO^T Qg for 16 channels and some strips from `column` on.
template <class S, int Strips>
__device__ __forceinline__ void add_query_cotangent(Accumulator (&ds)[Strips],
                                                    const typename S::Operand* d_o,
                                                    const typename S::Operand* qg,
                                                    const float* decay, float scale, int channel,
                                                    int column) {
  Accumulator sums[Strips];
#pragma unroll
  for (int s = 0; s < Strips; ++s) clear(sums[s]);
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile) {
    const auto query = right_tile_transposed(qg, k, channel);
#pragma unroll
    for (int s = 0; s < Strips; ++s)
      multiply<typename S::P>(
          sums[s], load_transposed(d_o + k * S::kRowLd + column + s * kTile, S::kRowLd), query);
  }
#pragma unroll
  for (int s = 0; s < Strips; ++s)
#pragma unroll
    for (int e = 0; e < 8; ++e)
      ds[s].x[e] = fma_(scale, sums[s].x[e], decay[channel + tile_col(e)] * ds[s].x[e]);
}

// ds -= dR^T Y for 16 channels.
template <class S, int Strips>
__device__ __forceinline__ void subtract_erased(Accumulator (&ds)[Strips],
                                                const typename S::Operand* dr,
                                                const typename S::Operand* y, int channel,
                                                int column) {
#pragma unroll
  for (int k = 0; k < kChunk; k += kTile) {
    const auto erase = right_tile_transposed(y, k, channel);
#pragma unroll
    for (int s = 0; s < Strips; ++s)
      multiply<typename S::P>(ds[s], negate(tile_fragment(dr, column + s * kTile, k)), erase);
  }
}

// Two neighbouring channels of a token row. Kept as it was loaded, so that nothing waits for it
// before its use.
template <class T>
struct ValuePair {
  uint32_t raw;
  static __device__ __forceinline__ ValuePair of(T low, T high) {
    return {low.bits | static_cast<uint32_t>(high.bits) << 16};
  }
  __device__ __forceinline__ float operator[](int i) const {
    return i == 0 ? low_of<T>(raw) : high_of<T>(raw);
  }
};
template <>
struct ValuePair<float> {
  Pack<float, 2> raw;
  static __device__ __forceinline__ ValuePair of(float low, float high) { return {{{low, high}}}; }
  __device__ __forceinline__ float operator[](int i) const { return raw[i]; }
};

// Channels c, c + 1 of a row; valid are those below `channels`, and with `pairs` both or none.
template <class T>
__device__ __forceinline__ ValuePair<T> load_pair(const T* row, int c, int channels, bool pairs) {
  if (!pairs)
    return ValuePair<T>::of(c < channels ? row[c] : T{}, c + 1 < channels ? row[c + 1] : T{});
  return c < channels ? *reinterpret_cast<const ValuePair<T>*>(row + c) : ValuePair<T>{};
}
template <class T>
__device__ __forceinline__ void store_pair(T* row, float x0, float x1, int c, int channels,
                                           bool pairs) {
  const Pack<T, 2> pair{{from_float<T>(x0), from_float<T>(x1)}};
  if (pairs) {
    if (c < channels) *reinterpret_cast<Pack<T, 2>*>(row + c) = pair;
  } else {
    if (c < channels) row[c] = pair[0];
    if (c + 1 < channels) row[c + 1] = pair[1];
  }
}

// v and w where this lane will hold P: 16 tokens, one strip.
template <class T>
struct ValueRows {
  ValuePair<T> v[4], w[4];

  // `token` and `column` are the first ones, counted in the chunk and in V.
  __device__ __forceinline__ void load(const DeviceProblem& p, const Chunk& chunk, int hv,
                                       int token, int column) {
    const bool pairs = p.v.pairs() && p.w.pairs();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int t = token + tile_row(2 * i), c = column + tile_col(2 * i),
                channels = t < chunk.rows ? p.V : 0;
      v[i] = load_pair(p.v.row<const T>(chunk.batch, chunk.token + t, hv), c, channels, pairs);
      w[i] = load_pair(p.w.row<const T>(chunk.batch, chunk.token + t, hv), c, channels, pairs);
    }
  }

  // dv = w P, dw = v P
  __device__ __forceinline__ void store_gradients(const DeviceProblem& p, const Chunk& chunk,
                                                  int hv, int token, int column,
                                                  const Accumulator& sums) const {
    const bool pairs = p.dv.pairs() && p.dw.pairs();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int t = token + tile_row(2 * i), c = column + tile_col(2 * i),
                channels = t < chunk.rows ? p.V : 0;
      const float x0 = sums.x[2 * i], x1 = sums.x[2 * i + 1];
      store_pair(p.dv.row<T>(chunk.batch, chunk.token + t, hv), w[i][0] * x0, w[i][1] * x1, c,
                 channels, pairs);
      store_pair(p.dw.row<T>(chunk.batch, chunk.token + t, hv), v[i][0] * x0, v[i][1] * x1, c,
                 channels, pairs);
    }
  }
};

// Copies this thread's share of a shared operand [columns, 64] to the chunk tile in memory that it
// is part of; `tile` points at the CTA's first column there.
template <class S>
__device__ __forceinline__ void keep_columns(typename S::Operand* tile,
                                             const typename S::Operand* columns) {
  constexpr int kUnit = 16 / sizeof(typename S::Operand);
  const int first = thread_index() * kUnit;
#pragma unroll
  for (int i = 0; i < S::kColumns * kChunk; i += S::kThreads * kUnit)
    store_streaming_16(tile + first + i, *reinterpret_cast<const Pack16*>(columns + first + i));
}

}  // namespace gdr2::cuda::reverse_scan
