// SPDX-License-Identifier: Apache-2.0
// What verify, judge and repro have in common: options of a run, and jobs -> sinks -> exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/job.hpp"

namespace CLI {
class App;
}

namespace gdr2 {

struct RunOptions {
  std::string json;
  bool strict = false;
  bool verbose = false;
  int threads = 0;

  void add_to(CLI::App& app);
};

/// Runs the jobs, reports to the console and to --json, and returns the exit code. When the process
/// is asked to stop, the report is finished with the cases done so far and the process ends by that
/// signal. Throws Error before any job runs when the report cannot be written.
int run_jobs(const std::vector<Job>& jobs, std::vector<std::uint64_t> seeds,
             const RunOptions& options, const std::vector<std::string>& argv);

}  // namespace gdr2
