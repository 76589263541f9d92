// SPDX-License-Identifier: Apache-2.0
// Kernels with a fault against cases: which case catches which, by which leg of the judge, and what
// public rules say of the very same outputs. A kernel that is caught is not looked at again. The
// judge is called as for any kernel and is told nothing.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "reference/verdict.hpp"

namespace gdr2::power {

struct Prey {
  const Kernel* kernel;
  const Kernel* right;  ///< the kernel without the fault; nullptr: not known
  /// False: where the right kernel gives the same bits, the fault is not in the case and the judge is
  /// not asked. True: the fault may be in memory or from run to run, so it is always asked.
  bool beyond_values = false;

  // What has been found so far.
  std::optional<Verdict> caught;
  std::string line;             ///< of the case that caught it
  std::int64_t judged = 0;      ///< cases in which the judge was asked
  std::int64_t differing = 0;   ///< cases in which its bits are not those of the right kernel
  std::set<std::string> rules;  ///< public rules that reject some output up to the catch
};

/// kQuick: EXACT, GLOBAL and the statistics, on an envelope that all kernels share. kAll: also LOCAL and
/// CONTRACT, which cost ensembles of their own for every kernel.
enum class Legs { kQuick, kAll };

/// A right kernel on a case: the judge, and the public rules, must be silent.
struct RightOnCase {
  const Kernel* kernel;
  bool accused = false;
  std::vector<std::string> rules;  ///< that reject it
};

/// One case on every prey that is still free. Kernels that do not support the case are passed over, and
/// so are those whose right kernel is accused: a false alarm catches nothing. Counts and public rules
/// are of the quick hunt alone.
std::vector<RightOnCase> hunt(const Case& c, std::vector<Prey>& prey, Legs legs = Legs::kQuick);

/// The first exact law that a kernel breaks, on cases small enough for hundreds of kernels.
struct LawBroken {
  std::string law, line, reason;
};
std::optional<LawBroken> law_broken(const Kernel& kernel);

}  // namespace gdr2::power
