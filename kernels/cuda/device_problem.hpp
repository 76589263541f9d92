// SPDX-License-Identifier: Apache-2.0
// From the C interface's structs to the problem as kernels see it. The arguments have been
// validated.
#pragma once

#include "kernels/cuda/problem.cuh"
#include "kernels/cuda/recurrent.hpp"

namespace gdr2::cuda {

// Sizes and options alone: enough to ask for workspace.
DeviceProblem device_problem(const gdr2_problem& problem);

void set_inputs(DeviceProblem& device, const gdr2_problem& problem, const gdr2_inputs& inputs);
void set_outputs(DeviceProblem& device, const gdr2_problem& problem, const gdr2_outputs& outputs);
void set_cotangents(DeviceProblem& device, const gdr2_problem& problem,
                    const gdr2_cotangents& cotangents);
void set_gradients(DeviceProblem& device, const gdr2_problem& problem,
                   const gdr2_gradients& gradients);

// Sets the problem's tensors and returns the pool.
DecodePool set_decode(DeviceProblem& device, const gdr2_problem& problem,
                      const gdr2_decode& decode);

}  // namespace gdr2::cuda
