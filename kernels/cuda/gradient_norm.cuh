// SPDX-License-Identifier: Apache-2.0
// L2 norm in the kernel: inverse norms of the rows of q and k, which prep has left, and their backward.
// A warp owns 8 rows; a lane has four neighbouring channels of each (K > 128: twice), so that all loads
// are under way together.
#pragma once

#include "kernels/cuda/adjoints.hpp"
#include "kernels/cuda/gradient_finish.cuh"

namespace gdr2::cuda::gradients {

constexpr int kRowsPerWarp = kChunk / (kThreads / kWarp);
using Four = Pack<float, 4>;

// function(true or false, as a type): may four neighbouring channels of q, k, dq, dk be accessed at
// once?
template <class T, class Function>
__device__ __forceinline__ void for_norms(const DeviceProblem& p, const Function& function) {
  const auto fours = [](const TokenTensor& x) {
    return x.vector != 0 || x.aligned >= 4 * static_cast<int>(sizeof(T));
  };
  if (fours(p.q) && fours(p.k) && fours(p.dq) && fours(p.dk)) {
    function(std::true_type{});
  } else {
    function(std::false_type{});
  }
}

// Channels c .. c + 3 of a row; zero from K on. Without a branch, so that many loads may be under way.
template <bool AtOnce, class T>
__device__ __forceinline__ Four load_channels(const T* row, int c, int K) {
  Four x;
  if constexpr (AtOnce) {
    const auto raw = load_read_only_four(row + (c < K ? c : 0));
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = c < K ? to_float(raw[i]) : 0.0f;
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const T raw = load_read_only(row + (c + i < K ? c + i : 0));
      x[i] = c + i < K ? to_float(raw) : 0.0f;
    }
  }
  return x;
}
template <bool AtOnce, class T>
__device__ __forceinline__ void store_channels(T* row, int c, int K, const Four& x) {
  Pack<T, 4> rounded;
#pragma unroll
  for (int i = 0; i < 4; ++i) rounded[i] = from_float<T>(x[i]);
  if constexpr (AtOnce) {
    if (c < K) *reinterpret_cast<Pack<T, 4>*>(row + c) = rounded;
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (c + i < K) row[c + i] = rounded[i];
  }
}

__device__ __forceinline__ float dot(const Four& x, const Four& y) {
  return fma_(x[0], y[0], fma_(x[1], y[1], fma_(x[2], y[2], x[3] * y[3])));
}

// This warp's row i; past the tail the last valid one again.
__device__ __forceinline__ int row_of_warp(const Chunk& chunk, int i) {
  const int row = warp_index() * kRowsPerWarp + i;
  return row < chunk.rows ? row : chunk.rows - 1;
}

// The inverse norms of the chunk's rows, ones without l2norm and past the tail.
template <class P>
__device__ __forceinline__ void load_inverse_norms(Shared<P>& shared,
                                                   const Intermediates<typename P::Operand>& states,
                                                   const Chunk& chunk, int64_t c, int head) {
  const int row = thread_index() % kChunk;
  if (thread_index() >= 2 * kChunk) return;
  const bool known = states.inverse_norm != nullptr && row < chunk.rows;
  const float norm = known ? states.norms(c, head)[thread_index()] : 1.0f;
  (thread_index() < kChunk ? shared.q_inverse_norm : shared.k_inverse_norm)[row] = norm;
}

// Four channels of gradients that wait, row by row.
struct WaitingChannels {
  const float* first;
  int ld;
};

// y = x r, r = 1 / sqrt(sum x^2 + eps):   dx = r (dy - y sum(y dy)), for some rows at a time.
// dy_at(c) tells where channel c of row 0 of dy is. Units: of four channels a lane.
template <class T, int Units, bool AtOnce, class Dy>
__device__ __forceinline__ void store_norm_gradient(const DeviceProblem& p, const TokenTensor& x,
                                                    const TokenTensor& dx, const Chunk& chunk,
                                                    int head, const float* r, const Dy& dy_at) {
  constexpr int kRows = kRowsPerWarp / (2 * Units);  // all eight would take too many registers
  const T* from = x.row<const T>(chunk.batch, chunk.token, head);
  T* to = dx.row<T>(chunk.batch, chunk.token, head);
#pragma unroll 1
  for (int first = 0; first < kRowsPerWarp; first += kRows) {
    Four y[kRows][Units], dy[kRows][Units];
#pragma unroll
    for (int u = 0; u < Units; ++u) {
      const int c = 4 * (lane_index() + u * kWarp);
      const auto at = dy_at(c);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const int row = row_of_warp(chunk, first + i);
        y[i][u] = load_channels<AtOnce>(from + row * x.token, c, p.K);
        dy[i][u] = *reinterpret_cast<const Four*>(at.first + row * at.ld);
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int row = row_of_warp(chunk, first + i);
      float along = 0.0f;
#pragma unroll
      for (int u = 0; u < Units; ++u) {
#pragma unroll
        for (int n = 0; n < 4; ++n) y[i][u][n] *= r[row];
        along += dot(y[i][u], dy[i][u]);
      }
      along = warp_sum(along);
      const int channels =
          warp_index() * kRowsPerWarp + first + i < chunk.rows ? p.K : 0;  // to be stored
#pragma unroll
      for (int u = 0; u < Units; ++u) {
        Four result;
#pragma unroll
        for (int n = 0; n < 4; ++n) result[n] = r[row] * (dy[i][u][n] - y[i][u][n] * along);
        store_channels<AtOnce>(to + row * dx.token, 4 * (lane_index() + u * kWarp), channels,
                               result);
      }
    }
  }
}

// Where the results of channel block kb wait: the last block's in place of its sums, the others' in
// memory.
template <class P>
__device__ __forceinline__ Waiting waiting_of(Shared<P>& shared, const DeviceProblem& p,
                                              const Adjoints<typename P::Operand>& adjoints,
                                              int64_t c, int head, int kb) {
  if (!p.l2norm) return {nullptr, nullptr, 0};
  if (kb == adjoints.kb - 1) return {shared.columns.rows.q, shared.columns.rows.k, kLd};
  float* dq = adjoints.normalised_tiles(c, head, kb);
  return {dq, dq + kTileElements, kChunk};
}

template <class P>
__device__ __forceinline__ void store_norm_gradients(Shared<P>& shared, const DeviceProblem& p,
                                                     const Adjoints<typename P::Operand>& adjoints,
                                                     const Chunk& chunk, int64_t c, int head) {
  using T = typename P::Operand;
  const auto at = [&](bool of_q) {
    return [&, of_q](int channel) {  // any that exists past K
      const int kb = channel / kChunk < adjoints.kb ? channel / kChunk : 0;
      const Waiting from = waiting_of(shared, p, adjoints, c, head, kb);
      return WaitingChannels{(of_q ? from.dq : from.dk) + channel % kChunk, from.ld};
    };
  };
  const auto both = [&](auto units, auto at_once) {
    store_norm_gradient<T, units, at_once>(p, p.q, p.dq, chunk, head, shared.q_inverse_norm,
                                           at(true));
    store_norm_gradient<T, units, at_once>(p, p.k, p.dk, chunk, head, shared.k_inverse_norm,
                                           at(false));
  };
  for_norms<T>(p, [&](auto at_once) {
    if (adjoints.kb <= 2) {
      both(std::integral_constant<int, 1>{}, at_once);
    } else {
      both(std::integral_constant<int, 2>{}, at_once);
    }
  });
}

}  // namespace gdr2::cuda::gradients
