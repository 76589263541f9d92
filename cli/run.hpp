// SPDX-License-Identifier: Apache-2.0
// What verify, laws, judge and repro have in common: options of a run, and jobs -> sinks -> exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/job.hpp"

namespace CLI {
class App;
}

namespace gdr2 {

/// Files that a run is reported to; "" for none.
struct ReportFiles {
  std::string json, junit, markdown, html;

  void add_to(CLI::App& app, bool with_json = true);
};

struct RunOptions {
  ReportFiles files;
  std::string waivers;  ///< file of cases that may fail
  std::string shard;    ///< "i/n"; "": as the scheduler says
  bool resume = false;
  bool strict = false;
  bool verbose = false;
  int threads = 0;

  void add_to(CLI::App& app);
};

/// Runs the jobs of this process's shard, reports to the console and to the files asked for, and
/// returns the exit code. When the process is asked to stop, the report is finished with the cases
/// done so far and the process ends by that signal. As one rank of several the first waits for the
/// others' reports and reports on all. Throws Error before any job runs when a report cannot be
/// written or the run cannot be resumed.
int run_jobs(std::vector<Job> jobs, std::vector<std::uint64_t> seeds, const RunOptions& options,
             const std::vector<std::string>& argv);

}  // namespace gdr2
