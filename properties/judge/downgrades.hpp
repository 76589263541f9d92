// SPDX-License-Identifier: Apache-2.0
// Leg CONTRACT (docs/NUMERICS.md): the claim itself. For every site that a kernel could silently
// compute in fewer bits than it declares, an emulator that does so shows what that error looks like,
// element by element; the kernel's error is fitted by the declared emulator's and by this one.
// A right kernel's coefficient is 0, that of a kernel with the downgraded site is 1, and the ensemble
// says how much it scatters by chance. The pattern is looked for, not the size: an error far below the
// rms still shows.
#pragma once

#include "properties/judge/evidence.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// A contract with one site lowered.
struct Downgrade {
  std::string name;  ///< "state in bf16"
  Contract contract;
};

/// The downgrades of a contract that a problem can show: operands, auxiliaries, solve, state, gate,
/// sums and normalized rows, in tf32 and bf16 where that is less than declared.
std::vector<Downgrade> downgrades_of(const Contract& contract, const Problem& problem);

struct SiteFit {
  std::string site;
  double coefficient = 0;  ///< 0: not there; 1: as the downgraded emulator
  double deviation = 0;    ///< of a right kernel's coefficient
  double effect = 0;       ///< rms of the downgrade's error over that of the declared contract
  double likeness = 0;     ///< correlation of what the emulator leaves over with the downgrade's error
};

std::vector<SiteFit> fit_downgrades(const Evidence& evidence);

/// The fit that is surest of a downgrade; value 1: as sure as the leg asks for.
Figure contract_figure(const std::vector<SiteFit>& fits);

}  // namespace gdr2
