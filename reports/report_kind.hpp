// SPDX-License-Identifier: Apache-2.0
// Which subcommand a report in JSON is of: what can be compared with it.
#pragma once

#include <filesystem>

namespace gdr2 {

enum class ReportKind { kCases, kBench, kPower, kCalibration };

const char* to_string(ReportKind kind);

/// By its members; a file that is none of the others is taken for a report of cases, whose reader says
/// what is wrong with it. Throws Error naming a file that cannot be read.
ReportKind kind_of_report(const std::filesystem::path& path);

}  // namespace gdr2
