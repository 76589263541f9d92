// SPDX-License-Identifier: Apache-2.0
// The gradients kernel's shared memory: cut so that two CTAs of a 16-bit problem share a
// multiprocessor.
#pragma once

#include "kernels/cuda/adjoints.hpp"
#include "kernels/cuda/device/fragment.cuh"

namespace gdr2::cuda::gradients {

constexpr int kThreads = 256;
constexpr int kRowBlocks = kChunk / kTile;                      // 16-row blocks of a chunk
constexpr int kBlockPairs = kRowBlocks * (kRowBlocks - 1) / 2;  // (later, earlier)
constexpr int kLd = kChunk + 4;                                 // of fp32 rows [64, 64]
constexpr int kRowElements = kChunk * kLd;

__host__ __device__ constexpr int pair_index(int later, int earlier) {
  return later * (later - 1) / 2 + earlier;
}

template <class P>
struct Shared {
  using Operand = typename P::Operand;
  static constexpr int kStages = sizeof(Operand) == 2 ? 2 : 1;
  struct Operands {                               // chunk tiles
    Operand d_o[kTileElements];                   // [token, value column]
    Operand r[kTileElements], p[kTileElements];   // [value column, token]
    Operand s[kTileElements], ds[kTileElements];  // [value column, channel]
  };
  struct Inputs {  // [token, channel], chunk tiles
    Operand q[kTileElements], k[kTileElements], b[kTileElements];
    float g[kTileElements];  // log decays, then dg
  };
  struct Rows {  // [token, channel]: q e k by their in-block decay, then the sums for dq de dk
    float q[kRowElements], e[kRowElements], k[kRowElements];
  };
  struct Columns {
    Inputs inputs;  // in place of the first stage, fetched during the last products
    Rows rows;
  };
  union {
    Operands operands[kStages];
    Columns columns;
  };
  Operand dA[kBlockPairs][kTile * kTile];  // 16-blocks below the diagonal
  float dT[kBlockPairs][kTile * kTile];
  Pack<float, 4> dA_diagonal[kRowBlocks][kTile * kTile / 4],
      dT_diagonal[kRowBlocks][kTile * kTile / 4];
  float block_decay[kRowBlocks][kChunk];    // decay over a whole 16-row block, by channel
  float later_rows[kBlockPairs][kChunk];    // see add_earlier_blocks
  float earlier_rows[kRowBlocks][kChunk];   // see add_later_blocks
  float state_product[kRowBlocks][kChunk];  // parts of rowsum(dS * S)
  float q_inverse_norm[kChunk], k_inverse_norm[kChunk];  // ones without l2norm
};
static_assert(sizeof(Shared<Bf16Products>) <= 113 * 1024);
static_assert(sizeof(Shared<Bf16Products>::Inputs) <= sizeof(Shared<Bf16Products>::Operands));

}  // namespace gdr2::cuda::gradients
