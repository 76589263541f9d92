// SPDX-License-Identifier: Apache-2.0
// A case ready to run, and the crew that runs many: on a few threads, since judging is bound by the
// CPU, with the records handed out in the order of the jobs, so that a report does not depend on the
// number of threads. A job that throws is CRASHED; the others go on.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "reports/record.hpp"

namespace gdr2 {

struct Job {
  CaseRecord record;  ///< all but verdict and seconds
  std::function<Verdict()> judge;
};

class Crew {
 public:
  using Started = std::function<void(const CaseRecord&)>;
  using Finished = std::function<void(CaseRecord&)>;

  /// Starts `threads` threads on the jobs, which must outlive the crew. `started` is called from
  /// them, one call at a time, before a job runs; `finished`, from any of them at any time, with the
  /// record of a job that ran, which it may still change.
  Crew(
      const std::vector<Job>& jobs, int threads, Started started, Finished finished = [](auto&) {});
  /// Starts no further job and waits for those that run.
  ~Crew();

  /// Waits for the next record, in the order of the jobs; nullopt after the last, or when the
  /// process was asked to stop.
  std::optional<CaseRecord> next();

 private:
  void work();

  const std::vector<Job>& jobs_;
  Started started_;
  Finished finished_;
  std::mutex mutex_;  ///< of all below
  std::condition_variable done_;
  std::vector<std::optional<CaseRecord>> records_;
  std::size_t next_to_start_ = 0, next_to_return_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace gdr2
