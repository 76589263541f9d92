// SPDX-License-Identifier: Apache-2.0
// Every tolerance of the judge, one row each. A change here states old, new and why, and follows
// the analysis in docs/NUMERICS.md. Nothing else in the judge holds a number that decides.
#pragma once

#include "reference/contract.hpp"

namespace gdr2::tolerance {

/// Members of the stochastic-rounding ensemble. 16 give sigma to 18 % (1/sqrt(2 N)) per element
/// before pooling; the cost is linear.
inline constexpr int kEnsemble = 16;

/// Weight, in members, of the row's mean square in an element's variance:
/// sigma^2 = (N s^2 + w r^2) / (N + w). It bounds sigma from below where an element's own 16 draws
/// happen to lie close together.
inline constexpr double kRowWeight = 4;

/// GLOBAL: FAILED when not |value - reference| <= z sigma. Where operands are rounded to fewer bits
/// than sums, their rounding dominates: a right kernel sits at rms z of about 0.7 (stochastic rounding
/// has twice the variance of nearest), and the largest z of right kernels over the ci set is 5.9.
inline constexpr double kGlobalZ = 9;

/// The same where operands keep the accumulator's format (fp32, fp64): then the error is that of the
/// sums, whose scale depends on the order of terms. A kernel has one order, the ensemble has sixteen;
/// a row whose partial sums run high in the kernel's order has up to twice the ensemble's rms, and
/// with 4.5 standard deviations over the elements of a case that is 9. Measured: 8.96 over the ci set.
inline constexpr double kGlobalZOfSums = 16;

/// Absolute error that flushing subnormals of the accumulator format may cause, in units of the
/// smallest normal number of that format.
inline constexpr double kFlushed = 1;

inline double global_z(const Contract& contract) {
  return contract.operand == contract.accumulator ? kGlobalZOfSums : kGlobalZ;
}

}  // namespace gdr2::tolerance
