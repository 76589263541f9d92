// SPDX-License-Identifier: Apache-2.0
// An element is accused when it lies beyond what the 16 members of the ensemble explain. Where one or two
// roundings make up its error, all 16 may have drawn alike and know of none (docs/NUMERICS.md, second
// look). So before a few elements are condemned, a larger ensemble of other members is asked about them;
// the larger sigma of the two stands. Elements that must be exact are never too many to be asked about:
// the members round equal values alike, and where those cancel they know of no error that a kernel which
// rounds one of them alone makes. It raises no sigma of an element that is not accused, and none beyond
// what the contract itself produced.
#pragma once

#include "properties/judge/evidence.hpp"

namespace gdr2 {

/// Elements of `e` that were accused and are explained by other members. Their sigma is raised.
std::int64_t look_again(Evidence& e, const Tensors& inputs, const EnvelopeSource& envelope_of);

}  // namespace gdr2
