// SPDX-License-Identifier: Apache-2.0
// The ranks of an MPI job as shards of one run. Each writes a report of its own beside the one asked
// for; the first waits for the others' and merges them. They meet in the file system alone: no MPI
// library is involved, so any mpirun will do. A rank other than the first ends with 0, since mpirun
// ends the whole job when a rank ends with anything else.
#pragma once

#include "cli/placement.hpp"
#include "cli/run.hpp"

namespace gdr2 {

/// Environment fact by which reports of this job are told from those of an earlier one.
inline constexpr const char* kJobFact = "mpi_job";

/// The files that this process writes itself: those asked for, with ".i-of-n" before the extension
/// when a scheduler gave all parts the same command line; for a rank the JSON report alone. Throws
/// Error when ranks have no report to meet in.
ReportFiles files_of(const Placement& placement, const ReportFiles& files);

/// Waits until every rank's report is there, and merges them. Throws Error when they do not fit.
RunRecord gather_ranks(const Placement& placement, const std::string& json);

void remove_rank_reports(const Placement& placement, const std::string& json);

}  // namespace gdr2
