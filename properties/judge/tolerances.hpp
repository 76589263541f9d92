// SPDX-License-Identifier: Apache-2.0
// Every tolerance of the judge, one row each. A change here states old, new and why, and follows
// the analysis in docs/NUMERICS.md. Nothing else in the judge holds a number that decides.
#pragma once

namespace gdr2::tolerance {

/// Members of the stochastic-rounding ensemble. 16 give sigma to 18 % (1/sqrt(2 N)) per element
/// before pooling; the cost is linear.
inline constexpr int kEnsemble = 16;

/// Weight, in members, of the row's mean square in an element's variance:
/// sigma^2 = (N s^2 + w r^2) / (N + w). It bounds sigma from below where an element's own 16 draws
/// happen to lie close together.
inline constexpr double kRowWeight = 4;

/// GLOBAL: FAILED when not |value - reference| <= kGlobalZ sigma. Stochastic rounding has twice the
/// variance of rounding to nearest, so a right kernel sits at rms z of about 0.7; the largest z of
/// right kernels is about 4 in bf16 and tf32 forward, 5.5 backward, over millions of elements.
inline constexpr double kGlobalZ = 9;

/// Absolute error that flushing subnormals of the accumulator format may cause, in units of the
/// smallest normal number of that format.
inline constexpr double kFlushed = 1;

}  // namespace gdr2::tolerance
