// SPDX-License-Identifier: Apache-2.0
// The error that a precision contract explains, per element (docs/NUMERICS.md, GLOBAL): the
// reference value y*, and sigma from an ensemble of runs of the chunk form under the contract with
// stochastic rounding at every site. It never looks at the kernel's results.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract.hpp"
#include "reference/problem.hpp"
#include "reference/run.hpp"

namespace gdr2 {

/// Which members an ensemble has. For elements that the first look accuses (second_look.hpp): kScattered,
/// which round equal values each by itself and split decays at other blocks too; kSecond, others and more of them, and the scattered ones too: the
/// larger sigma of both. Only the errors of the first are kept.
enum class Look { kFirst, kSecond, kScattered };

struct Envelope {
  Values<double> reference;  ///< y*, every output and gradient of the problem
  Values<double> sigma;      ///< one standard deviation; 0: the value must be exact
  std::vector<Values<float>> members;  ///< errors of the ensemble's members, before any storing
};

/// Outputs, gradients when problem.backward, and the asked stages. Throws EnvelopeOverflow when the
/// contract's own arithmetic overflows on these inputs where the reference is finite.
Envelope make_envelope(const Problem& problem, const Tensors& inputs, const Contract& contract,
                       const std::vector<Name>& stages = {}, Look look = Look::kFirst);

/// How a check comes by an envelope: make_envelope, or one kept from an earlier check of the case.
using EnvelopeSource = std::function<Envelope(const Problem&, const Tensors& inputs, const Contract&,
                                              const std::vector<Name>& stages, Look)>;

class EnvelopeOverflow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace gdr2
