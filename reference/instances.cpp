// SPDX-License-Identifier: Apache-2.0
#include "reference/run.hpp"

namespace gdr2 {

template Values<double> reference(const Problem&, const Values<double>&);
template Values<Quad> reference(const Problem&, const Values<Quad>&);

}  // namespace gdr2
