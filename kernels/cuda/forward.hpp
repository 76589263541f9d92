// SPDX-License-Identifier: Apache-2.0
// The forward pass: chunk index, prep, scan. Nothing here waits for the device or allocates.
#pragma once

#include "kernels/cuda/problem.cuh"

namespace gdr2::cuda {

// The scratch memory of forward, with a `saved` buffer or without.
uint64_t forward_workspace_bytes(const DeviceProblem& problem, bool with_saved = false);

// What forward keeps for backward: records, chunk decays, the states entering the chunks and the
// rows of R.
uint64_t saved_bytes(const DeviceProblem& problem);

// Stages that forward exports: bits of gdr2_stage.
uint32_t forward_stages();

// Enqueues the pass on problem.stream. Throws CudaError.
void launch_forward(DeviceProblem problem, const gdr2_outputs& outputs, gdr2_workspace& workspace);

}  // namespace gdr2::cuda
