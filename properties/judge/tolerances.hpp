// SPDX-License-Identifier: Apache-2.0
// Every tolerance of the judge, one row each. A change here states old, new and why, and follows
// the analysis in docs/NUMERICS.md. Nothing else in the judge holds a number that decides.
#pragma once

#include "reference/contract.hpp"
#include "reference/problem.hpp"

namespace gdr2::tolerance {

/// Members of the stochastic-rounding ensemble. 16 give sigma to 18 % (1/sqrt(2 N)) per element
/// before pooling; the cost is linear.
inline constexpr int kEnsemble = 16;

/// Further members that decide on elements which the first ones accuse. Where two roundings make up an
/// error and are even bets, they cancel in all of 16 members once in 2^16; in 64, once in 2^64.
inline constexpr int kSecondLook = 64;

/// Members whose roundings are each drawn anew, for accused elements: what a kernel that rounds one of two
/// equal values and not the other makes of their difference.
inline constexpr int kScattered = 16;

/// A second look is taken when no more than so many rows' worth of elements of a tensor are accused: what
/// the draws of one or two roundings reach. More are no accident of draws.
inline constexpr std::int64_t kAccusedRows = 2;

/// Weight, in members, of the row's mean square in an element's variance:
/// sigma^2 = (N s^2 + w r^2) / (N + w). It bounds sigma from below where an element's own 16 draws
/// happen to lie close together.
inline constexpr double kRowWeight = 4;

/// sigma of a score (T, A_qk and what A takes from them) holds so many ulps, in the accumulator's format, of
/// the sum of its terms' magnitudes. Times z = 16 it is 0.8 ulp: one rounding, half an ulp at most, of the
/// largest partial sum that any order has. Sums of 16-bit products round so rarely that no draw need show it.
inline constexpr double kOfOneRounding = 0.05;

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

/// Where the error of sums may decide: contracts whose operands are as wide as sums, and of every
/// contract the scores and their inverse, which hold direct sums beside products of rounded operands.
inline bool sums_decide(const Contract& contract, Name name) {
  const bool scores = name == Name::T || name == Name::A || name == Name::Aqk;
  return scores || contract.operand == contract.accumulator;
}

inline double global_z(const Contract& contract) {
  return contract.operand == contract.accumulator ? kGlobalZOfSums : kGlobalZ;
}

inline double z_of(const Contract& contract, Name name) {
  return sums_decide(contract, name) ? kGlobalZOfSums : kGlobalZ;
}

/// GLOBAL: tokens times elements of a state (T HV K V) up to which it is run: 16 members take half an hour
/// there. LOCAL screens so many at most.
inline constexpr double kGlobalWork = 0x1p32;

/// LOCAL: chunks of a case that are judged at most.
inline constexpr std::int64_t kLocalChunks = 16;

/// STATISTICS: rms z of a class over the emulator's may be 1 + margin + scatter, the scatter being so
/// many standard deviations of the class's rms over the ensemble: 16 members give a t with 15 degrees of
/// freedom, which passes 6.5 once in 2e5, and a set has 1e5 classes. Tensors where sums decide are left
/// out: where keys are alike, one order of terms rounds alike in all elements of a class.
inline constexpr double kRatioMargin = 0.10;
inline constexpr double kRatioScatter = 6.5;

/// The emulator's rms z counts as at least this. Where it is less, the envelope is wider than rounding
/// to nearest explains (pooling with a row of larger errors, flushing) and a ratio says little.
inline constexpr double kLeastRms = 0.5;

/// Elements that a class must have to be judged: fewer are judged one by one. The elements of a row share
/// the errors of its scores, or the luck of one order of terms, so a class must hold many rows.
inline constexpr std::int64_t kLeastOfClass = 1024;

/// BIAS: |mean z| in standard deviations of the ensemble's means.
inline constexpr double kBias = 8;

/// CONTRACT: a downgrade is there when its coefficient passes this on the way from a right kernel's (0 as a
/// rule, at most 0.49) to a downgraded one's (1), and so many standard deviations of a right kernel's.
inline constexpr double kLeastCoefficient = 0.7;
inline constexpr double kSure = 6;

/// CONTRACT: effect of a downgrade, of the rms error, from which it is looked for. A pattern far below the
/// error itself is matched by what another order of operations leaves.
inline constexpr double kLeastEffect = 0.05;

/// Diagnosis: correlation from which an error is said to look like a downgrade, and members of the
/// ensembles that split sigma by site. They decide nothing.
inline constexpr double kLeastLikeness = 0.5;
inline constexpr int kSiteMembers = 4;

/// Conservation laws (properties/laws/balance.hpp): what a balance leaves over, in units of
/// u (sqrt(sum of squares) + 0.02 sum) of its terms' sizes. Right kernels over the sets ci, smoke and
/// laws stay below 5; where sums decide, below 18.1.
inline constexpr double kBalance = 10;
inline constexpr double kBalanceOfSums = 36;

inline double balance_of(const Contract& contract) {
  return contract.operand == contract.accumulator ? kBalanceOfSums : kBalance;
}

}  // namespace gdr2::tolerance
