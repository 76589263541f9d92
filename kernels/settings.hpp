// SPDX-License-Identifier: Apache-2.0
// How kernels are run, for the whole process: set once, before the first kernel is looked up. Kernels
// from elsewhere (libraries, commands) run in a worker process when `worker` names one; the kernels
// built in do when `isolate` says so. Without a worker, libraries run in this process.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "reference/contract.hpp"
#include "reference/problem.hpp"

namespace gdr2 {

struct KernelSettings {
  std::string worker;       ///< shell command to which the quoted name of a kernel is appended
  bool isolate = false;     ///< built-in kernels run in workers too
  /// Arrays lie in the memory of the library that works on them (Kernel::memory), not in the host's.
  bool resident = false;
  double timeout_s = 300;   ///< of one call; past it the worker is killed
  int workers = 1;          ///< processes of one command
  std::uint64_t memory = 0; ///< bytes of its own that a worker may hold; 0: no limit
  /// The contract that kernels from elsewhere are held to instead of the one they declare.
  std::function<Contract(const Problem&)> contract;
};

/// Called before kernels() or find_kernel(), or not at all.
void configure_kernels(KernelSettings settings);
const KernelSettings& kernel_settings();

}  // namespace gdr2
