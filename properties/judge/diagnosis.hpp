// SPDX-License-Identifier: Apache-2.0
// Localisation of a failure (docs/NUMERICS.md): which part of a tensor holds the wrong elements, which
// downgraded site the error looks like, and what the contract's own sigma at the worst element is made
// of. It costs more than the legs do, so it is made for cases that failed, or when asked for.
#pragma once

#include "properties/judge/downgrades.hpp"
#include "properties/judge/places.hpp"

namespace gdr2 {

/// "sequence 0, head 1, chunks 2 .. 3, rows 16 .. 31, channel 5": the span of the elements of a tensor
/// whose z passes `least` (of the worst alone when none does). `chunks`: what the sequences of a cut
/// problem are in the whole; empty for a whole problem.
std::string where_beyond(const Evidence& evidence, Name name, double least,
                         const std::vector<Chunk>& chunks);

/// sigma^2 of the row of element `index` by rounding site, largest first: ensembles in which one site
/// rounds and all others are exact.
std::vector<Share> variance_by_site(const Evidence& evidence, Name name, std::int64_t index);

/// Adds site and likeness when some downgrade looks like the error.
void name_site(const std::vector<SiteFit>& fits, Diagnosis& diagnosis);

}  // namespace gdr2
