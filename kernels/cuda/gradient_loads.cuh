// SPDX-License-Identifier: Apache-2.0
// What the gradients kernel fetches: the operands of one product step, the inputs of one block of
// 64 channels.
#pragma once

#include "kernels/cuda/chunk_tile_copy.cuh"
#include "kernels/cuda/gradient_memory.cuh"

namespace gdr2::cuda::gradients {

// A chunk tile of a token tensor's head from channel `first` on; zero past the tail and past
// `channels`, or all when `absent`, then x is any live tensor.
template <class T>
__device__ __forceinline__ void copy_token_tile(T* tile, const TokenTensor& x, const Chunk& chunk,
                                                int head, int first, int channels,
                                                bool absent = false) {
  constexpr int kUnit = 16 / sizeof(T), kUnits = kChunk / kUnit, kStep = kThreads / kUnits;
  const T* row = x.row<const T>(chunk.batch, chunk.token, head);
  const int rows = absent ? 0 : chunk.rows, thread = thread_index();
  if (x.vector) {
    const int c = thread % kUnits * kUnit;
    const T* source = row + thread / kUnits * x.token + first + c;
    const int64_t step = not_hoisted(kStep * x.token);
#pragma unroll
    for (int r = thread / kUnits, n = 0; n < kChunk / kStep; ++n, r += kStep, source += step) {
      const bool valid = r < rows && first + c < channels;
      copy_async_16(tile + chunk_tile_at<T>(r, c), valid ? source : row, valid);
    }
    return;
  }
  copy_unaligned_rows<kChunk, kThreads, PlaceInTile<T>>(tile, row + first, x.token, x.aligned, rows,
                                                        channels - first, thread);
}

// Value head and value block of a product step.
struct ValuePart {
  int hv, vb;
};

template <class P>
__device__ __forceinline__ void load_operands(typename Shared<P>::Operands& to,
                                              const DeviceProblem& p,
                                              const Intermediates<typename P::Operand>& states,
                                              const Adjoints<typename P::Operand>& adjoints,
                                              const Chunk& chunk, int64_t c, const ValuePart& part,
                                              int kb) {
  const int thread = thread_index();
  const bool absent = p.d_o.data == nullptr;
  copy_token_tile(to.d_o, absent ? p.v : p.d_o, chunk, part.hv, part.vb * kChunk, p.V, absent);
  copy_tile_async<kThreads>(to.r, states.r_tile(c, part.hv, part.vb), thread);
  copy_tile_async<kThreads>(to.p, adjoints.p_tile(c, part.hv, part.vb), thread);
  copy_tile_async<kThreads>(to.s, states.h_tile(c, part.hv, part.vb, kb), thread);
  copy_tile_async<kThreads>(to.ds, adjoints.ds_tile(c, part.hv, part.vb, kb), thread);
}

// g as given, in fp32 only: 16-bit log decays are read when they are needed.
template <class P>
__device__ __forceinline__ void load_inputs(typename Shared<P>::Inputs& to, const DeviceProblem& p,
                                            const Chunk& chunk, int head, int kb) {
  const int first = kb * kChunk;
  copy_token_tile(to.q, p.q, chunk, head, first, p.K);
  copy_token_tile(to.k, p.k, chunk, head, first, p.K);
  copy_token_tile(to.b, p.b, chunk, head, first, p.K);
  if (p.g_dtype == GDR2_F32) copy_token_tile(to.g, p.g, chunk, head, first, p.K);
}

}  // namespace gdr2::cuda::gradients
