// SPDX-License-Identifier: Apache-2.0
// Other orders of summation for any kernel, from outside: key and value channels permuted, the kernel
// run, its results permuted back. The rule is symmetric under both (docs/MATH.md 7), a kernel's sums
// over channels meet their terms in another order, and nothing else changes.
#pragma once

#include "kernels/kernel.hpp"
#include "properties/laws/law_run.hpp"

namespace gdr2 {

/// Outputs and gradients with channels in order `order`: 0 is the given one, each further number a
/// permutation of its own of the key channels and of the value channels.
Tensors run_in_order(const Kernel& kernel, const laws::Call& call, int order);

}  // namespace gdr2
