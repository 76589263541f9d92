// SPDX-License-Identifier: Apache-2.0
// The errors of a right kernel on one case, in sigmas: what the tolerances of the judge are calibrated
// on. Runs the kernel in several orders of summation against one envelope, and the full check in the
// first. It reports; it decides nothing.
#pragma once

#include <vector>

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "properties/power/envelope_memo.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// Signed errors z = (value - reference) / sigma of one tensor in one order of summation. Elements
/// that must be exact, and are, count with z = 0.
struct CleanErrors {
  Name name{};
  int order = 0;
  std::int64_t elements = 0;
  std::int64_t beyond = 0;     ///< not |z| <= what GLOBAL allows: NaN, infinite, too far
  std::int64_t explained = 0;  ///< beyond at first, and explained by a second look
  double sum_z = 0, sum_z2 = 0, max_z = 0;
};

struct CleanCase {
  Verdict verdict;                  ///< of `check`
  std::vector<CleanErrors> errors;  ///< empty unless the verdict is PASSED or FAILED
};

/// `memo`: of this case, so that kernels of one contract share its envelopes.
CleanCase measure_clean(const Kernel& kernel, const Case& c, int orders, EnvelopeMemo& memo);

}  // namespace gdr2
