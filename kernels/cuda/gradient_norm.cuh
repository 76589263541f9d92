// SPDX-License-Identifier: Apache-2.0
// L2 norm in the kernel: inverse norms of the rows of q and k, and their backward. A warp owns 8
// rows.
#pragma once

#include "kernels/cuda/adjoints.hpp"
#include "kernels/cuda/gradient_finish.cuh"

namespace gdr2::cuda::gradients {

constexpr int kRowsPerWarp = kChunk / (kThreads / kWarp);

// The warp's rows, f(i, row, valid). A row past the tail is the last valid one again, so that all
// loads are under way together.
template <class Function>
__device__ __forceinline__ void for_each_row(const Chunk& chunk, const Function& f) {
#pragma unroll
  for (int i = 0; i < kRowsPerWarp; ++i) {
    const int row = warp_index() * kRowsPerWarp + i;
    const bool valid = row < chunk.rows;
    f(i, valid ? row : chunk.rows - 1, valid);
  }
}

template <class T>
__device__ __forceinline__ void store_inverse_norm(float* to, const DeviceProblem& p,
                                                   const TokenTensor& x, const Chunk& chunk,
                                                   int head) {
  const T* rows = x.row<const T>(chunk.batch, chunk.token, head);
  float sum[kRowsPerWarp] = {};
#pragma unroll 1
  for (int c = lane_index(); c < p.K; c += kWarp)
    for_each_row(chunk, [&](int i, int row, bool) {
      const float y = to_float(load_read_only(rows + row * x.token + c));
      sum[i] = fma_(y, y, sum[i]);
    });
#pragma unroll
  for (int i = 0; i < kRowsPerWarp; ++i) {
    const float total = warp_sum(sum[i]);
    if (lane_index() == i) to[warp_index() * kRowsPerWarp + i] = 1.0f / sqrt_(total + p.l2norm_eps);
  }
}

template <class P>
__device__ __forceinline__ void store_inverse_norms(Shared<P>& shared, const DeviceProblem& p,
                                                    const Chunk& chunk, int head) {
  if (p.l2norm) {
    store_inverse_norm<typename P::Operand>(shared.q_inverse_norm, p, p.q, chunk, head);
    store_inverse_norm<typename P::Operand>(shared.k_inverse_norm, p, p.k, chunk, head);
  } else if (thread_index() < kChunk) {
    shared.q_inverse_norm[thread_index()] = shared.k_inverse_norm[thread_index()] = 1.0f;
  }
}

// One channel of gradients that wait, row by row.
struct WaitingColumn {
  const float* first;
  int ld;
};

// y = x r, r = 1 / sqrt(sum x^2 + eps):   dx = r (dy - y sum(y dy)).  dy_at(c) tells where channel
// c of dy is.
template <class T, class Dy>
__device__ __forceinline__ void store_norm_gradient(const DeviceProblem& p, const TokenTensor& x,
                                                    const TokenTensor& dx, const Chunk& chunk,
                                                    int head, const float* r, const Dy& dy_at) {
  const T* from = x.row<const T>(chunk.batch, chunk.token, head);
  T* to = dx.row<T>(chunk.batch, chunk.token, head);
  const auto y_of = [&](int row, int c) {
    return to_float(load_read_only(from + row * x.token + c)) * r[row];
  };
  float dot[kRowsPerWarp] = {};
#pragma unroll 1
  for (int c = lane_index(); c < p.K; c += kWarp) {
    const WaitingColumn dy = dy_at(c);
    for_each_row(chunk, [&](int i, int row, bool) {
      dot[i] = fma_(y_of(row, c), dy.first[row * dy.ld], dot[i]);
    });
  }
#pragma unroll
  for (int i = 0; i < kRowsPerWarp; ++i) dot[i] = warp_sum(dot[i]);
#pragma unroll 1
  for (int c = lane_index(); c < p.K; c += kWarp) {
    const WaitingColumn dy = dy_at(c);
    float result[kRowsPerWarp];
    for_each_row(chunk, [&](int i, int row, bool) {
      result[i] = r[row] * (dy.first[row * dy.ld] - y_of(row, c) * dot[i]);
    });
    for_each_row(chunk, [&](int i, int row, bool valid) {
      if (valid) to[row * dx.token + c] = from_float<T>(result[i]);
    });
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
  store_norm_gradient<T>(p, p.q, p.dq, chunk, head, shared.q_inverse_norm, [&](int channel) {
    const Waiting from = waiting_of(shared, p, adjoints, c, head, channel / kChunk);
    return WaitingColumn{from.dq + channel % kChunk, from.ld};
  });
  store_norm_gradient<T>(p, p.k, p.dk, chunk, head, shared.k_inverse_norm, [&](int channel) {
    const Waiting from = waiting_of(shared, p, adjoints, c, head, channel / kChunk);
    return WaitingColumn{from.dk + channel % kChunk, from.ld};
  });
}

}  // namespace gdr2::cuda::gradients
