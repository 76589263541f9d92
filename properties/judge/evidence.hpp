// SPDX-License-Identifier: Apache-2.0
// One problem, what a kernel made of it, and what the kernel's contract explains: all that a leg
// looks at. The problem is a whole one, or one cut at its chunk borders (cut.hpp).
#pragma once

#include "properties/judge/envelope.hpp"

namespace gdr2 {

struct Evidence {
  Problem problem;
  Contract contract;
  Values<double> inputs;
  Values<double> values;    ///< the kernel's: results and stages, as stored
  Envelope envelope;        ///< of every name in `values`
  Values<double> nearest;   ///< the emulator's, rounding to nearest, as stored; for the figures below

  /// (x - y*) / sigma, 0 where nothing is explained or known (sigma is 0).
  double z(Name name, std::size_t i, double x) const {
    const double sigma = envelope.sigma.at(name)[i];
    return sigma > 0 ? (x - envelope.reference.at(name)[i]) / sigma : 0;
  }
};

/// What the emulator of a contract makes of the evidence's problem, rounded to nearest everywhere and
/// to the dtype of each tensor; names as in `evidence.values`.
Values<double> emulated_as_stored(const Evidence& evidence, const Contract& contract);

}  // namespace gdr2
