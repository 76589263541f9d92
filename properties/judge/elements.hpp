// SPDX-License-Identifier: Apache-2.0
// The legs that judge every element by itself: EXACT on values (finite where the reference is), then
// |value - y*| <= z sigma, on a whole problem (GLOBAL) or on chunks (LOCAL). Results and stages alike.
#pragma once

#include "properties/judge/cut.hpp"
#include "properties/judge/evidence.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// A verdict a tensor, in `verdict.tensors`; the largest z as a figure; the first failure takes over
/// the verdict. Without a cut the whole problem is judged, and an envelope that would admit an all-zero
/// result is MISTRUSTED.
void judge_elements(const Evidence& evidence, const Cut* cut, Verdict& verdict);

/// Tensors in the order in which a chunk forms them: an error shows first in the first of them.
int order_of_forming(Name name);

}  // namespace gdr2
