// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a contract on a whole problem, without templates: what the CPU kernels compute,
// and what one member of the GLOBAL ensemble computes. Computed in fp32 storage for contracts of at
// most 32 bits, in fp64 storage for an fp64 contract; in the chunk form, or token by token when the
// contract says so. Results are doubles, not yet rounded to the dtype of their tensor.
#pragma once

#include "reference/arithmetic.hpp"
#include "reference/run.hpp"

namespace gdr2 {

/// Outputs, the gradients when problem.backward, and the asked stages.
Values<double> emulate(const Problem& problem, const Values<double>& inputs,
                       const Contract& contract, RoundingMode mode = RoundingMode::kNearest,
                       std::uint32_t seed = 0, const std::vector<Name>& stages = {});

/// Stages of a problem without rounding, in double: the forward's, and with it the backward's.
Values<double> exact_stages(const Problem& problem, const Values<double>& inputs,
                            const std::vector<Name>& stages);

/// Stages that the emulator of a contract knows: of a token loop only the states H and dH.
std::vector<Name> emulated_stages(const Problem& problem, const Contract& contract);

}  // namespace gdr2
