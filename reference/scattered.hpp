// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a contract with every rounding drawn anew, on a whole problem. A member of the GLOBAL
// ensemble (emulate.hpp) rounds equal values alike, as a kernel does, and so what is a difference of equal
// values comes out exact. A kernel need not round both: it may keep one of them in a register. These runs
// know no equal values, and are exact only where nothing rounds at all. For contracts of at most 32 bits;
// sums are formed in double and rounded once. Results are doubles, not yet rounded to the dtype of their
// tensor.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/contract.hpp"
#include "reference/run.hpp"

namespace gdr2 {

/// Outputs, the gradients when problem.backward, and the asked stages.
Values<double> emulate_scattered(const Problem& problem, const Values<double>& inputs,
                                 const Contract& contract, std::uint32_t seed,
                                 const std::vector<Name>& stages = {});

}  // namespace gdr2
