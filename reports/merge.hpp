// SPDX-License-Identifier: Apache-2.0
// The reports of the shards of one run, as one report. Refuses what is not exactly the run: shards that
// overlap, are missing, were interrupted, or are of another plan or another build.
#pragma once

#include <string>
#include <vector>

#include "reports/record.hpp"

namespace gdr2 {

struct NamedRun {
  std::string name;  ///< file it was read from, for messages
  RunRecord run;
};

/// The record that the whole run would have left, but for times: the sum of the shards' seconds stands
/// with the cases, the longest with the run. Throws Error naming the reports that do not fit.
RunRecord merge_shards(std::vector<NamedRun> shards);

/// Names a plan by what its cases are: 16 hexadecimal digits.
std::string plan_name(const std::vector<std::string>& repro_lines);

}  // namespace gdr2
