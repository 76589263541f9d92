// SPDX-License-Identifier: Apache-2.0
// The worker's side of docs/PROTOCOL.md: answers requests about one kernel until the input ends. What
// the kernel prints goes to standard error, so that it cannot speak in the place of the answers.
#pragma once

#include <functional>
#include <string>

#include "kernels/kernel.hpp"

namespace gdr2 {

/// Serves the kernel that `find` gives for `name`, on standard input and output. Returns the exit code of the
/// process; after a call that failed it returns too, since the kernel may have left anything behind.
int serve(const std::function<const Kernel&(const std::string&)>& find, const std::string& name);

}  // namespace gdr2
