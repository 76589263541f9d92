// SPDX-License-Identifier: Apache-2.0
// Kernel libraries loaded at run time. A library stays loaded until the process ends, since kernels
// hold pointers into it.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.hpp"

namespace gdr2 {

/// "PATH.so", "PATH.so:recompute" or "PATH.so:decode" rather than the name of a built-in kernel.
bool names_plugin(const std::string& name);

/// Loads the library and makes its chunk kernel (backward from saved intermediates), the same with
/// recomputed ones, or its decode kernel. Throws Error naming the path and what is wrong.
std::unique_ptr<Kernel> load_plugin(const std::string& name);

}  // namespace gdr2
