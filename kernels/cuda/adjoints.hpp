// SPDX-License-Identifier: Apache-2.0
// What the kernels of the backward leave in memory for each other, by global chunk, beside the
// forward's intermediates (intermediates.hpp) and in the same chunk tiles:
//
//     ds(vb, kb) [64 value column, 64 channel]   dS^T, the cotangent of the state leaving the chunk
//     p(vb)      [64 value column, 64 token]     P^T, the cotangent of Z
//
// and by key head, in fp32: with a gate in the kernel the chunk's sums over its tokens of the
// contributions to ddt_bias and dA_log, [chunks, H, KP] each; with l2norm dq and dk with respect to
// the normalised q and k, until all channel blocks but the last one have them, [chunks, H, KB - 1,
// 2, 64 token, 64 channel].
#pragma once

#include "kernels/cuda/intermediates.hpp"

namespace gdr2::cuda {

template <class Operand>
struct Adjoints {
  Operand* ds;              // [chunks, HV, VB, KB, 64, 64]
  Operand* p;               // [chunks, HV, VB, 64, 64]
  float* bias_partial;      // [chunks, H, KP], null: the gate is not in the kernel
  float* log_rate_partial;  // [chunks, H, KP], likewise
  float* normalised;        // [chunks, H, KB - 1, 2, 64, 64], null: without l2norm
  int32_t H, HV, kb, vb;

  __host__ __device__ Operand* ds_tile(int64_t chunk, int64_t value_head, int v, int k) const {
    return ds + (((chunk * HV + value_head) * vb + v) * kb + k) * kTileElements;
  }
  __host__ __device__ Operand* p_tile(int64_t chunk, int64_t value_head, int v) const {
    return p + ((chunk * HV + value_head) * vb + v) * kTileElements;
  }
  // dq, and dk behind it, of a channel block.
  __host__ __device__ float* normalised_tiles(int64_t chunk, int64_t head, int k) const {
    return normalised + ((chunk * H + head) * (kb - 1) + k) * 2 * kTileElements;
  }
  // Offset of a key head's channel 0 in the two arrays of partial sums.
  __host__ __device__ int64_t partial(int64_t chunk, int64_t head) const {
    return (chunk * H + head) * kb * kChunk;
  }
};

template <class Operand>
Adjoints<Operand> place_adjoints(const DeviceProblem& p, Workspace& workspace) {
  Adjoints<Operand> a{};
  a.H = p.H;
  a.HV = p.HV;
  a.kb = key_blocks(p.K);
  a.vb = value_blocks(p.V);
  a.ds = workspace.take<Operand>(p.chunk_bound * p.HV * a.vb * a.kb * kTileElements);
  a.p = workspace.take<Operand>(p.chunk_bound * p.HV * a.vb * kTileElements);
  if (p.l2norm)
    a.normalised = workspace.take<float>(p.chunk_bound * p.H * (a.kb - 1) * 2 * kTileElements);
  if (p.gate == GDR2_GATE_LOG) return a;
  a.bias_partial = workspace.take<float>(p.chunk_bound * p.H * a.kb * kChunk);
  a.log_rate_partial = workspace.take<float>(p.chunk_bound * p.H * a.kb * kChunk);
  return a;
}

// Optional exports of the backward in fp32.
struct AdjointStages {
  StageTensor ds, dr, p;
};

}  // namespace gdr2::cuda
