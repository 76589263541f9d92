// SPDX-License-Identifier: Apache-2.0
// The judge on results that are known to be wrong: the true results of a right kernel, perturbed in
// one tensor. Each must be rejected; one that is not shows a check without power on that case. Beside it
// stands which public rules tell it from the right results.
#pragma once

#include <string>
#include <vector>

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "properties/power/envelope_memo.hpp"

namespace gdr2::power {

struct Perturbed {
  std::string name;  ///< "zero", "one_element" ...
  Name tensor{};
  bool rejected = false;
  /// Largest |change| in sigmas: a perturbation within what the contract explains is none.
  double size = 0;
  std::vector<std::string> rules;  ///< public rules that accept the right tensor and reject this one
};

/// Every perturbation of every tensor of a case that changes something. `places`: how many single
/// elements of each tensor are moved by just over what GLOBAL allows.
std::vector<Perturbed> perturb(const Kernel& kernel, const Case& c, int places);

}  // namespace gdr2::power
