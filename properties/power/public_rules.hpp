// SPDX-License-Identifier: Apache-2.0
// What public test suites would decide on a tensor: their acceptance rules, on results of this suite,
// for the comparison in the report of `gdr2 power`. None of them decides anything here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reference/problem.hpp"

namespace gdr2::power {

struct PublicRule {
  std::string name;
  std::string statement;
  /// True when the rule accepts `value` for `reference`, both row-major.
  bool (*accepts)(Name name, std::span<const double> value, std::span<const double> reference);
};

const std::vector<PublicRule>& public_rules();

/// Names of the rules that reject some tensor.
std::vector<std::string> rejecting_rules(const Tensors& results,
                                         const std::map<Name, std::vector<double>>& reference);

}  // namespace gdr2::power
