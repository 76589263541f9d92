// SPDX-License-Identifier: Apache-2.0
// The key side of the chunk form, all chunks at once: from q k g b the records and chunk decays of
// intermediates.hpp. One CTA a chunk and key head, so with grouped value heads it runs once a
// group. It knows nothing of v, w and the state. Numerics and anchors: docs/KERNELS.md, forward.
#pragma once

#include "kernels/cuda/device/fragment.cuh"
#include "kernels/cuda/intermediates.hpp"

namespace gdr2::cuda {

// Exported before rounding to the operand type; null data: not wanted.
struct PrepStages {
  StageTensor T{}, A{}, Aqk{};  // [chunks, H, 64, 64]
  StageTensor Y{};              // [chunks, H, 64, K]
};

// Enqueues it; the chunk index stands. P: Bf16Products, Fp16Products, Tf32Products, Fp32Products.
template <class P>
void launch_prep(const DeviceProblem& problem, const Intermediates<typename P::Operand>& out,
                 const PrepStages& stages);

}  // namespace gdr2::cuda
