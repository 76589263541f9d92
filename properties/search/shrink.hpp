// SPDX-License-Identifier: Apache-2.0
// Makes a failing case small: drops sequences, heads, tokens (chunks first) and channels and turns
// options off, then sets values to zero and to powers of two, as long as the predicate still holds.
// Greedy and deterministic: the same case and predicate give the same result. It knows nothing of
// kernels or verdicts.
#pragma once

#include <functional>

#include "fixtures/case.hpp"

namespace gdr2::search {

/// True where the case still fails as it did.
using StillFails = std::function<bool(const Case&)>;

struct Shrunk {
  Case c;               ///< values in memory (Case::given)
  int evaluations = 0;  ///< of the predicate
};

/// Asks the predicate at most `budget` times. It is not asked about the case itself.
Shrunk shrink(const Case& c, const StillFails& fails, int budget);

}  // namespace gdr2::search
