// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a contract on a whole problem, without templates: what the CPU kernels compute,
// and what one member of the GLOBAL ensemble computes. Computed in fp32 storage for contracts of at
// most 32 bits, in fp64 storage for an fp64 contract; in the chunk form, or token by token when the
// contract says so. Results are doubles, not yet rounded to the dtype of their tensor.
#pragma once

#include "reference/arithmetic.hpp"
#include "reference/run.hpp"

namespace gdr2 {

Values<double> emulate_forward(const Problem& problem, const Values<double>& inputs,
                               const Contract& contract,
                               RoundingMode mode = RoundingMode::kNearest, std::uint32_t seed = 0);

Values<double> emulate_backward(const Problem& problem, const Values<double>& inputs,
                                const Contract& contract,
                                RoundingMode mode = RoundingMode::kNearest, std::uint32_t seed = 0);

}  // namespace gdr2
