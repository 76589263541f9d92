// SPDX-License-Identifier: Apache-2.0
// A kernel's gradients against gradients that no backward made: each element of every gradient is
// <dout, J e> with J e from dual numbers through the forward recurrence, one forward an element. It
// costs (elements) x (a forward), so it is for small cases; what it shares with the verdict of
// `verify` is the forward recurrence alone.
#pragma once

#include "kernels/kernel.hpp"
#include "reference/run.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// Every gradient of the problem, as shape_of(problem, name), in double.
Values<double> dual_gradients(const Problem& problem, const Tensors& inputs);

/// The kernel's gradients, in freshly poisoned tensors.
Tensors run_backward_of(const Kernel& kernel, const Problem& problem, const Tensors& inputs);

/// PASSED when every element is within `allowed` sigma of `wanted`; else FAILED, and the reason names
/// the input whose gradient disagrees, and the index. `sigma` as in properties/judge/envelope.hpp.
Verdict compare_gradients(const Problem& problem, const Tensors& gradients,
                          const Values<double>& wanted, const Values<double>& sigma,
                          double allowed);

}  // namespace gdr2
