// SPDX-License-Identifier: Apache-2.0
// A run as Markdown, short enough for the summary page of a CI job: what did not pass with the command
// that runs it again, then the accuracy table. Never longer than kMarkdownLimit; what is left out is
// counted.
#pragma once

#include <string>

#include "reports/record.hpp"

namespace gdr2 {

inline constexpr std::size_t kMarkdownLimit = 200'000;  ///< bytes

std::string markdown_summary(const RunRecord& run);

}  // namespace gdr2
