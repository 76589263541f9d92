// SPDX-License-Identifier: Apache-2.0
// Keeps the envelopes of one case, since a case is judged with hundreds of kernels and its envelope
// depends on the contract alone (and on the stages that are asked for). One object a case: it does not look at the inputs.
#pragma once

#include <algorithm>
#include <list>
#include <utility>

#include "properties/judge/envelope.hpp"

namespace gdr2 {

class EnvelopeMemo {
 public:
  const Envelope& get(const Problem& problem, const Tensors& inputs, const Contract& contract,
                      const std::vector<Name>& stages = {}) {
    const auto holds = [&](const Envelope& envelope) {
      return std::all_of(stages.begin(), stages.end(),
                         [&](Name name) { return envelope.reference.contains(name); });
    };
    for (const auto& [key, envelope] : kept_)
      if (key == contract && holds(envelope)) return envelope;
    return kept_.emplace_back(contract, make_envelope(problem, inputs, contract, stages)).second;
  }

  /// For `check`; lives no longer than this object.
  EnvelopeSource source() {
    return [this](const auto&... call) { return get(call...); };
  }

 private:
  std::list<std::pair<Contract, Envelope>> kept_;
};

}  // namespace gdr2
