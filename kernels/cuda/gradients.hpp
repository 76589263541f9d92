// SPDX-License-Identifier: Apache-2.0
// The gradients of q k g b (docs/MATH.md, chunk backward), all chunks at once: one CTA a chunk and
// key head. From the inputs, the state entering the chunk and its adjoint leaving it (h, ds) and
// the rows r and p, summed over the value heads of the group in their order. With a gate in the
// kernel it leaves the chunk's sums for ddt_bias and dA_log (parameter_gradients.hpp). Nothing here
// is sequential over chunks.
#pragma once

#include "kernels/cuda/adjoints.hpp"

namespace gdr2::cuda {

template <class P>
void launch_gradients(const DeviceProblem& problem,
                      const Intermediates<typename P::Operand>& states,
                      const Adjoints<typename P::Operand>& adjoints);

}  // namespace gdr2::cuda
