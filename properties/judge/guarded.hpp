// SPDX-License-Identifier: Apache-2.0
// Runs a kernel the way a suspicious caller would: outputs are poisoned and stand between guard
// bands, everything runs twice under two poison patterns, and afterwards inputs, guards and the
// second run's bits are compared (docs/NUMERICS.md, EXACT).
#pragma once

#include <optional>
#include <string>

#include "kernels/kernel.hpp"

namespace gdr2 {

struct GuardedRun {
  Tensors results;  ///< outputs and gradients of the first run, and stages of the second
  std::optional<std::string> fault; ///< what the kernel did to memory, in one sentence
};

/// Lets the kernel's exceptions through.
/// The second run exports `stages`, so that results do not depend on whether they are exported.
GuardedRun run_guarded(const Kernel& kernel, const Problem& problem, const Tensors& inputs,
                       const std::vector<Name>& stages = {});

}  // namespace gdr2
