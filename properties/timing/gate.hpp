// SPDX-License-Identifier: Apache-2.0
// The correctness gate in front of a stopwatch: a kernel that is wrong has no time. A production size
// cannot be judged whole, so the gate judges the same problem cut short, forward and backward, and then
// the first tokens of two heads of the full size, which by causality depend on nothing that follows.
#pragma once

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// The case with at most 2 rows, 2 key heads and 150 tokens, or 3 sequences of at most 70; sizes of
/// heads, dtype and options stay.
Case cut_short(const Case& c);

/// The verdict on the first tokens of the first and last sequence and head, of the forward pass of the
/// full size, on these inputs.
Verdict check_first_tokens(const Kernel& kernel, const Problem& problem, const Tensors& inputs);

}  // namespace gdr2
