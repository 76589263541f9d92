// SPDX-License-Identifier: Apache-2.0
// Many runs in the order of time: what each came to, and how the error of each kernel, dtype and tensor
// moved, and the time of each kernel. For reading, not for gating: it says nothing of why.
#pragma once

#include <string>
#include <vector>

#include "reports/bench_record.hpp"
#include "reports/record.hpp"

namespace gdr2 {

struct History {
  std::vector<RunRecord> runs;      ///< oldest first
  std::vector<BenchRun> benches;    ///< the same
  std::vector<std::string> others;  ///< files that are no reports of these, with the reason
};

/// The reports (*.json) of a folder and the folders below it. Throws Error naming a folder that cannot be
/// read.
History read_history(const std::string& folder);

/// A table of the runs, then one of the errors: rms z over all elements of the first and the last run,
/// least and largest, and a line of marks from the first to the last; and the same of times.
std::string history_text(const History& history);

}  // namespace gdr2
