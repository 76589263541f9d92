// SPDX-License-Identifier: Apache-2.0
// Stages in which a thread owns a column, 16 token rows of one channel: the inputs as the rule
// takes them, and q, e and k decayed within the block, for the products between blocks.
#pragma once

#include "kernels/cuda/device/memory.cuh"
#include "kernels/cuda/gate.cuh"
#include "kernels/cuda/gradient_memory.cuh"
#include "kernels/cuda/prep_rows.cuh"

namespace gdr2::cuda::gradients {

struct Column {
  int64_t batch, token;  // of the block's first row
  int rows;              // valid rows; none when the channel is past K
  int block, local;      // row block 0..3, channel within the 64 of this pass
  int head, channel;

  __device__ __forceinline__ int row(int i) const { return block * kTile + i; }
  // Of row i in a chunk tile and in fp32 rows.
  template <class T>
  __device__ __forceinline__ int tile_at(int i) const {
    return chunk_tile_at<T>(row(i), local);
  }
  __device__ __forceinline__ int row_at(int i) const { return row(i) * kLd + local; }
  // Of the first row in a tensor.
  __device__ __forceinline__ int64_t offset(const TokenTensor& x) const {
    return batch * x.batch + token * x.token + head * x.head + channel;
  }
};

__device__ __forceinline__ Column column_of(const DeviceProblem& p, const Chunk& chunk, int head,
                                            int kb) {
  Column at;
  at.block = thread_index() / kChunk;
  at.local = thread_index() % kChunk;
  at.batch = chunk.batch;
  at.token = chunk.token + at.block * kTile;
  at.head = head;
  at.channel = kb * kChunk + at.local;
  at.rows = at.channel < p.K ? chunk.rows - at.block * kTile : 0;
  return at;
}

__device__ __forceinline__ Gate gate_of(const DeviceProblem& p, const Column& at) {
  return gate_at(p, at.head, at.rows > 0 ? at.channel : 0);
}

// exp(g), accurately in the IEEE policy.
template <class P>
__device__ __forceinline__ float decay_of(float g) {
  return std::is_same_v<P, Fp32Products> ? exp_(g) : fast_exp(g);
}

// Element `offset` of a tensor whose type is known at run time.
__device__ __forceinline__ float load_element(const TokenTensor& x, int64_t offset) {
  if (x.dtype == GDR2_F32) return load_read_only(static_cast<const float*>(x.data) + offset);
  const uint16_t bits = load_read_only(static_cast<const uint16_t*>(x.data) + offset);
  return x.dtype == GDR2_BF16 ? to_float(Bf16{bits}) : to_float(Fp16{bits});
}

__device__ __forceinline__ void store_element(const TokenTensor& x, int64_t offset, float value) {
  if (x.dtype == GDR2_F32) {
    static_cast<float*>(x.data)[offset] = value;
  } else {
    static_cast<uint16_t*>(x.data)[offset] =
        x.dtype == GDR2_BF16 ? from_float<Bf16>(value).bits : from_float<Fp16>(value).bits;
  }
}

// inputs.g from what was given to log decays, zero past the tail.
template <class P>
__device__ __forceinline__ void form_log_decays(Shared<P>& shared, const DeviceProblem& p,
                                                const Column& at) {
  const bool here = p.g_dtype == GDR2_F32;
  if (here && p.gate == GDR2_GATE_LOG) return;
  const Gate gate = gate_of(p, at);
  int64_t offset = at.offset(p.g);
#pragma unroll 1
  for (int i = 0; i < kTile; ++i, offset += p.g.token) {
    float& g = shared.columns.inputs.g[at.template tile_at<float>(i)];
    const float x = here ? g : i < at.rows ? load_element(p.g, offset) : 0.0f;
    g = i < at.rows ? log_decay(gate, x) : 0.0f;
  }
}

// q, k, b of a row, normalised and doubled where asked; zero past the tail and past K.
struct RowInputs {
  float q, k, b;
};

template <class P>
__device__ __forceinline__ RowInputs row_inputs(const Shared<P>& shared, const Column& at, int i,
                                                float twice) {
  const auto& inputs = shared.columns.inputs;
  const int from = at.template tile_at<typename P::Operand>(i);
  return {to_float(inputs.q[from]) * shared.q_inverse_norm[at.row(i)],
          to_float(inputs.k[from]) * shared.k_inverse_norm[at.row(i)],
          to_float(inputs.b[from]) * twice};
}

// rows.q, rows.e: by the decay from the block's start to the row (its own decay included); rows.k:
// by the decay behind the row to the block's end.
template <class P>
__device__ __forceinline__ void store_decayed_rows(Shared<P>& shared, const Column& at,
                                                   float twice) {
  auto& rows = shared.columns.rows;
  float k[kTile], step[kTile];
  DecayWalk<P> from_start;
#pragma unroll
  for (int i = 0; i < kTile; ++i) {
    const RowInputs x = row_inputs(shared, at, i, twice);
    k[i] = x.k;
    step[i] = DecayWalk<P>::step(shared.columns.inputs.g[at.template tile_at<float>(i)]);
    from_start.pass(step[i]);
    const float decay = from_start.value();
    rows.q[at.row_at(i)] = x.q * decay;
    rows.e[at.row_at(i)] = x.b * x.k * decay;
  }
  shared.block_decay[at.block][at.local] = from_start.value();
  DecayWalk<P> to_end;
#pragma unroll
  for (int i = kTile - 1; i >= 0; --i) {
    rows.k[at.row_at(i)] = k[i] * to_end.value();
    to_end.pass(step[i]);
  }
}

}  // namespace gdr2::cuda::gradients
