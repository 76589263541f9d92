// SPDX-License-Identifier: Apache-2.0
// A sequence stopped and resumed: what serving does between prefill and decode, and what a gradient
// over a cut sequence does.
#pragma once

#include "properties/laws/law_run.hpp"
#include "reference/run.hpp"

namespace gdr2::laws {

/// A call of one sequence, B = 1 and not packed, as tokens 0 .. t and t .. T: the state after the first
/// part enters the second, and the second's dh0 is the first's dht.
struct Resumed {
  Call first, second;
  Tensors first_results, second_results;

  /// What the two parts give, as the whole does.
  Values<double> results() const;
};

Resumed resume(const Kernel& kernel, const Call& call, std::int64_t t);

}  // namespace gdr2::laws
