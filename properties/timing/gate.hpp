// SPDX-License-Identifier: Apache-2.0
// The correctness gate in front of a stopwatch: a kernel that is wrong has no time. A production size
// cannot be judged whole, so the gate runs the same problem with few tokens and every head, forward and
// backward, guarded, and judges two heads of it; then, at full size, the first tokens of two heads, which by
// causality depend on nothing that follows. Kernels that are compiled for a number of heads or channels are
// judged as they are timed.
#pragma once

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// The case with one row of at most 100 tokens, or 3 sequences of at most 50; heads, channels, dtype
/// and options stay.
Case cut_short(const Case& c);

/// The verdict on the first and the last sequence and key head of the case, after a guarded run of it.
Verdict check_short(const Kernel& kernel, const Case& c);

/// The verdict on the first tokens of the first and last sequence and key head, of the forward pass of
/// the full size, on these inputs.
Verdict check_first_tokens(const Kernel& kernel, const Problem& problem, const Tensors& inputs);

}  // namespace gdr2
