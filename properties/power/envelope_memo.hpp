// SPDX-License-Identifier: Apache-2.0
// Keeps the envelopes of one case, since a case is judged with hundreds of kernels and its envelope
// depends on the contract and the asked stages alone. One object a case: it does not look at the inputs.
#pragma once

#include <algorithm>
#include <list>
#include <vector>

#include "properties/judge/envelope.hpp"

namespace gdr2 {

class EnvelopeMemo {
 public:
  const Envelope& get(const Problem& problem, const Tensors& inputs, const Contract& contract,
                      const std::vector<Name>& stages = {}, Look look = Look::kFirst) {
    const auto has = [&](const Kept& kept) {
      return std::all_of(stages.begin(), stages.end(),
                         [&](Name name) { return wants(kept.stages, name); });
    };
    for (const auto& kept : kept_)
      if (kept.look == look && kept.contract == contract && has(kept)) return kept.envelope;
    return kept_
        .emplace_back(look, contract, stages, make_envelope(problem, inputs, contract, stages, look))
        .envelope;
  }

  /// For `check`; lives no longer than this object.
  EnvelopeSource source() {
    return [this](const auto&... call) { return get(call...); };
  }

 private:
  struct Kept {
    Look look;
    Contract contract;
    std::vector<Name> stages;
    Envelope envelope;
  };
  std::list<Kept> kept_;
};

}  // namespace gdr2
