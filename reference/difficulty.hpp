// SPDX-License-Identifier: Apache-2.0
// How hard a problem's inputs are for a chunk kernel, in two figures: the decay that its exponents have
// to span and the condition of the triangular solve (docs/MATH.md 4). A report shows errors against
// them. Cheap: the condition is that of at most kSampledChunks chunks, spread evenly.
#pragma once

#include "reference/problem.hpp"

namespace gdr2 {

struct Difficulty {
  double decay_span = 0;  ///< nats: largest decay of one channel within a chunk; may be infinite
  double condition = 1;   ///< largest 1-norm condition number of I + T

  bool operator==(const Difficulty&) const = default;
};

inline constexpr std::int64_t kSampledChunks = 32;

/// `inputs` holds input_names(problem). A problem without tokens has {0, 1}.
Difficulty difficulty_of(const Problem& problem, const Tensors& inputs);

}  // namespace gdr2
