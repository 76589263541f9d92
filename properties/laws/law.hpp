// SPDX-License-Identifier: Apache-2.0
// Laws that a right kernel obeys bit for bit, whatever its precision (docs/MATH.md 7). Each is a check
// of its own: it runs the kernel on a case and on a changed one, and compares bits. No reference and
// no tolerance is involved, so they hold at any size.
#pragma once

#include <string>
#include <vector>

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

struct Law {
  std::string name;       ///< "causality"
  std::string statement;  ///< one sentence
  /// PASSED, FAILED with what differs where, SKIPPED where the law says nothing about the case, or
  /// where the kernel does not support a case that the law needs.
  Verdict (*check)(const Kernel& kernel, const Case& c);
};

const std::vector<Law>& exact_laws();

/// Throws Error listing the names.
const Law& find_law(const std::string& name);

}  // namespace gdr2
