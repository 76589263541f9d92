// SPDX-License-Identifier: Apache-2.0
// Which chunks LOCAL judges when there are more than it can afford (docs/NUMERICS.md). Every chunk is
// compared with exact arithmetic from the kernel's own states, which costs one run instead of an
// ensemble; those with the largest errors for their size are judged, and evenly spaced ones beside.
#pragma once

#include "properties/judge/cut.hpp"

namespace gdr2 {

/// At most `most` indices into chunks_of(problem), ascending; all when there are no more. Of a large problem
/// as many evenly spaced chunks are compared as make up `most_work` (large.hpp).
std::vector<std::int64_t> chosen_chunks(const Problem& problem, const Tensors& inputs,
                                        const Tensors& results, std::int64_t most, double most_work);

}  // namespace gdr2
