// SPDX-License-Identifier: Apache-2.0
// The backward pass: the forward's intermediates (from `saved`, or computed again), the reverse
// scan, the gradients and the parameters' sums. Nothing here waits for the device or allocates.
#pragma once

#include "kernels/cuda/problem.cuh"

namespace gdr2::cuda {

// The scratch memory of backward, with a `saved` buffer or without.
uint64_t backward_workspace_bytes(const DeviceProblem& problem, bool with_saved = false);

// Stages that backward exports: bits of gdr2_stage.
uint32_t backward_stages();

// Enqueues the pass on problem.stream. Throws CudaError.
void launch_backward(DeviceProblem problem, const gdr2_gradients& gradients,
                     gdr2_workspace& workspace);

}  // namespace gdr2::cuda
