// SPDX-License-Identifier: Apache-2.0
// What rounding each operand of the chunk form's products does to a row of results: ensembles in which
// one matrix is rounded wherever a product takes it, and nothing else is. It promises names ("R") where
// the contract says "operands"; it knows whole matrices alone, not the factors of scores. Of the
// diagnosis: it decides nothing.
#pragma once

#include "properties/judge/evidence.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// Mean square error of elements first .. first + count - 1 of a tensor by operand, as `share`, not
/// normalised; `members` draws each. Empty for a contract of a token loop, which has no such products.
std::vector<Share> variance_by_operand(const Evidence& evidence, Name name, std::int64_t first,
                                       std::int64_t count, int members);

}  // namespace gdr2
