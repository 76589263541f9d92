// SPDX-License-Identifier: Apache-2.0
// Laws that a right kernel obeys (docs/MATH.md 6 and 7). Each is a check of its own: it runs the kernel
// on a case, mostly also on a changed one, and compares. Three kinds:
//   bits      compared bit for bit; no reference, no tolerance, any size
//   balance   sums of inputs times gradients that cancel; no reference, any size
//   margin    equal but for rounding: within what the precision contract explains on that case
#pragma once

#include <string>
#include <vector>

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

struct Law {
  enum class Kind { kBits, kBalance, kMargin };

  std::string name;       ///< "causality"
  std::string statement;  ///< one sentence
  /// PASSED, FAILED with what differs where, SKIPPED where the law says nothing about the case, or
  /// where the kernel does not support a case that the law needs.
  Verdict (*check)(const Kernel& kernel, const Case& c);
  Kind kind = Kind::kBits;
};

/// Every law, in the order of docs/MATH.md.
const std::vector<Law>& all_laws();

/// Throws Error listing the names.
const Law& find_law(const std::string& name);

}  // namespace gdr2
