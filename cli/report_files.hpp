// SPDX-License-Identifier: Apache-2.0
// The sinks of the report files that a command line asks for, and a record that is already whole
// given to sinks as if it had just run.
#pragma once

#include <memory>
#include <vector>

#include "cli/run.hpp"
#include "reports/html_report.hpp"
#include "reports/sink.hpp"

namespace gdr2 {

using Sinks = std::vector<std::unique_ptr<ReportSink>>;

/// Throws Error naming the option when a file cannot be written. `resumed`: for the JSON report.
/// `studies`: for the HTML report.
Sinks open_report_files(const ReportFiles& files, std::vector<CaseRecord> resumed = {},
                        const Studies& studies = {});

void replay(const RunRecord& run, const Sinks& sinks);

}  // namespace gdr2
