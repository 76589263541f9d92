// SPDX-License-Identifier: Apache-2.0
// Cases that may fail for now: a file with one waiver a line,
//
//   UNTIL | ISSUE | PATTERN | REASON          '#' in the first column starts a comment
//   2027-03-01 | #12 | kernel=cuda.chunk * recipe=spike* | dg loses digits behind a spike
//
// PATTERN is a shell pattern over "kernel=NAME LINE", ISSUE is #NUMBER, and UNTIL is the last day on
// which the waiver holds. A waived case that passes fails, so that no waiver outlives its fault; a case
// whose waiver has expired fails whatever it did.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/record.hpp"

namespace gdr2 {

struct Waiver {
  std::string until;  ///< YYYY-MM-DD
  std::string issue, pattern, reason;
  std::string place;  ///< "FILE:LINE"
};

/// Throws Error naming file, line and field.
std::vector<Waiver> read_waivers(const std::filesystem::path& file);

/// Applies the first waiver whose pattern fits, as of `today` (YYYY-MM-DD).
void apply_waivers(const std::vector<Waiver>& waivers, const std::string& today,
                   CaseRecord& record);

/// Today in UTC, YYYY-MM-DD.
std::string today();

}  // namespace gdr2
