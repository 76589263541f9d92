// SPDX-License-Identifier: Apache-2.0
// ddt_bias [H, K] and dA_log [H] from the chunks' partial sums: added in fp64 in a fixed order, so
// the bits depend on neither the launch nor the device, and hardly on how tokens are dealt to
// sequences.
#pragma once

#include "kernels/cuda/adjoints.hpp"

namespace gdr2::cuda {

// Nothing without a gate in the kernel; each of the two results may be absent.
void launch_parameter_gradients(const DeviceProblem& problem, const float* bias_partial,
                                const float* log_rate_partial);

}  // namespace gdr2::cuda
