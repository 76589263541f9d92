// SPDX-License-Identifier: Apache-2.0
// Many runs in the order of time: what each came to, and how the error of each kernel, dtype and tensor
// moved. For reading, not for gating: it says nothing of why.
#pragma once

#include <string>
#include <vector>

#include "reports/record.hpp"

namespace gdr2 {

/// The reports (*.json) of a folder and the folders below it, oldest first; files that are no reports
/// are left out and named in `others`. Throws Error naming a folder that cannot be read.
std::vector<RunRecord> read_history(const std::string& folder, std::vector<std::string>& others);

/// A table of the runs, then one of the errors: rms z over all elements of the first and the last run,
/// least and largest, and a line of marks from the first to the last.
std::string history_text(const std::vector<RunRecord>& runs);

}  // namespace gdr2
