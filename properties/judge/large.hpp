// SPDX-License-Identifier: Apache-2.0
// Problems whose ensemble would take hours. They are judged by what needs no reference of the whole
// (docs/NUMERICS.md, large problems): every value is finite, the conservation laws close, and LOCAL on a
// sample of chunks. The verdict says so in a note, and is MISTRUSTED when the kernel exports no states.
#pragma once

#include "reference/contract.hpp"
#include "reference/tensor.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// Tokens times elements of a state. A problem of more than tolerance::kGlobalWork is large.
double work_of(const Problem& problem);

/// Finite values and closed balances, and the note of what was left out. `judged`: chunks that LOCAL
/// judges; `most_work`: up to which GLOBAL would have been run.
void judge_large(const Problem& problem, const Tensors& inputs, const Contract& contract,
                 const Tensors& results, std::int64_t judged, double most_work, Verdict& verdict);

}  // namespace gdr2
