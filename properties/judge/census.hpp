// SPDX-License-Identifier: Apache-2.0
// The exception census of one tensor: subnormals, flushes to zero, cancellation, headroom to
// overflow. Information for the reader; it decides nothing. NaN and infinities are counted by
// reference/error_stats.hpp and do decide.
#pragma once

#include <span>

#include "reference/contract.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

Census take_census(DType dtype, const Contract& contract, std::span<const double> value,
                   std::span<const double> reference, std::span<const double> sigma);

}  // namespace gdr2
