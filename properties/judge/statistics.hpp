// SPDX-License-Identifier: Apache-2.0
// Legs STATISTICS and BIAS (docs/NUMERICS.md): the rms of z, and its mean, over classes of elements,
// against an emulator that rounds at the same sites to nearest. They see errors that no single element
// shows: a site with a few bits less, a row or head that is worse than the others. How much a
// right kernel's figure scatters is read off the ensemble, class by class, so that correlated errors
// need no assumption.
#pragma once

#include "properties/judge/evidence.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// The largest rms ratio and the largest bias over all classes: per tensor and head, row of a chunk,
/// block of 16 rows, tail, and block of 16 channels.
std::vector<Figure> judge_statistics(const Evidence& evidence);

}  // namespace gdr2
