// SPDX-License-Identifier: Apache-2.0
// A law against kernels with planted faults: which of them break it. A law that none of them breaks
// is no check. Every law meets faults of its own making, so that what one law calls leaves nothing
// behind for another. Faults of the kind "races" are for the law `repeatable` alone, and `repeatable` is
// for faults around a call alone: no other can answer differently the second time.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fixtures/case.hpp"
#include "properties/laws/law.hpp"

namespace gdr2::power {

struct LawCaught {
  std::string fault, kind;
  std::string line, reason;  ///< where and how it broke the law
};

struct LawPower {
  std::vector<LawCaught> caught;    ///< in the order of faults()
  std::int64_t spoken = 0;          ///< cases that it says something of, on right kernels
  std::vector<std::string> alarms;  ///< cases in which a right kernel breaks it; they catch nothing
};

/// Each kernel until it breaks the law; of the faults named. Nothing, once `stopped` says so.
std::optional<LawPower> power_of_law(const Law& law, const std::vector<Case>& cases,
                                     const std::set<std::string>& fault_names,
                                     const std::function<bool()>& stopped);

}  // namespace gdr2::power
