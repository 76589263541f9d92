// SPDX-License-Identifier: Apache-2.0
// gdr2 laws --faults: can each law fail? The laws against kernels with planted faults.
#pragma once

#include <string>
#include <vector>

#include "fixtures/case.hpp"
#include "properties/laws/law.hpp"

namespace gdr2 {

struct LawPowerOptions {
  int faults = 0;  ///< drawn over all kinds alike; 0: no such study
  int threads = 1;
  std::string json;
};

/// Exit code 1: a law that no fault breaks, or that a right kernel breaks.
int law_power(const std::vector<Law>& laws, const std::vector<Case>& cases,
              const LawPowerOptions& options, const std::vector<std::string>& argv);

}  // namespace gdr2
