// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#include "cli/interrupt.hpp"
#include "cli/placement.hpp"
#include "cli/ranks.hpp"
#include "cli/report_files.hpp"
#include "reference/error.hpp"
#include "reports/console_sink.hpp"
#include "reports/environment.hpp"
#include "reports/map_keeper.hpp"
#include "reports/merge.hpp"
#include "reports/report_file.hpp"
#include "reports/waivers.hpp"

namespace gdr2 {
namespace {

constexpr int kMostThreads = 256;

/// Enough to keep a workstation busy; a case of a long sequence needs gigabytes, so not one a core.
int default_threads() { return int(std::clamp(std::thread::hardware_concurrency(), 1u, 8u)); }

std::unique_ptr<ReportSink> console(const RunOptions& options) {
  return std::make_unique<ConsoleSink>(std::cout, console_options(options.verbose));
}

/// Names the cases by their place in the plan, and the plan by its cases.
std::string name_plan(std::vector<Job>& jobs) {
  std::vector<std::string> lines;
  for (auto& job : jobs) {
    job.record.index = std::ssize(lines);
    lines.push_back(job.record.repro);
  }
  return plan_name(lines);
}

void expect_same_run(const RunRecord& run, const RunRecord& left, const std::string& file) {
  const auto expect = [&](const char* what, const std::string& now, const std::string& then) {
    if (now != then) fail("--resume: {}: {} is {}, and of this run {}", file, what, then, now);
  };
  expect("the plan", run.plan, left.plan);
  expect("git_sha", run.git_sha, left.git_sha);
  expect("version", run.version, left.version);
  expect("the shard", fmt::format("{}/{}", run.shard.index + 1, run.shard.count),
         fmt::format("{}/{}", left.shard.index + 1, left.shard.count));
}

/// The cases that an earlier process did of this run.
std::vector<CaseRecord> resumed_cases(const RunRecord& run, const RunOptions& options) {
  if (!options.resume) return {};
  if (options.files.json.empty())
    fail("--resume: the run to resume is that of --json FILE; give it");
  auto left = read_unfinished(options.files.json);
  if (!left) return {};
  expect_same_run(run, *left, options.files.json);
  return std::move(left->cases);
}

/// One process's part of a run: jobs that are left to do between cases that are done.
class Execution {
 public:
  Execution(RunRecord run, std::vector<Job> jobs, const RunOptions& options, const Sinks& sinks)
      : run_(std::move(run)), jobs_(std::move(jobs)), options_(options), sinks_(sinks) {
    if (!options.waivers.empty()) waivers_ = read_waivers(options.waivers);
  }

  RunRecord finish(std::vector<CaseRecord> resumed) {
    const auto start = std::chrono::steady_clock::now();
    for (const auto& sink : sinks_) sink->begin(run_);
    std::erase_if(jobs_, [&](const Job& job) {
      return std::ranges::binary_search(resumed, job.record.index, {}, &CaseRecord::index);
    });
    run(resumed);
    const std::lock_guard lock(sinks_in_use_);
    run_.complete = run_.planned == std::ssize(run_.cases);
    run_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    keep_worst_maps(run_.cases);
    for (const auto& sink : sinks_) sink->end(run_);
    return std::move(run_);
  }

 private:
  /// In the order of the plan; when the process is asked to stop, with gaps where cases had not finished.
  void run(std::vector<CaseRecord>& resumed) {
    for (auto& record : resumed) finished_.emplace(record.index, std::move(record));
    {
      Crew crew(
          jobs_, options_.threads, [this](auto& record) { started(record); },
          [this](auto& record) { finished(record); });
      while (const auto record = crew.next()) done_up_to(record->index);
    }
    done_up_to(INT64_MAX);
  }

  void started(const CaseRecord& record) {
    const std::lock_guard lock(sinks_in_use_);
    for (const auto& sink : sinks_) sink->case_started(record.repro);
  }
  void finished(CaseRecord& record) {
    const std::lock_guard lock(sinks_in_use_);
    apply_waivers(waivers_, today_, record);
    keeper_.offer(record);
    for (const auto& sink : sinks_) sink->case_finished(record);
    finished_.emplace(record.index, record);
  }
  void done_up_to(std::int64_t index) {
    const std::lock_guard lock(sinks_in_use_);
    while (!finished_.empty() && finished_.begin()->first <= index) {
      const auto record = std::move(finished_.extract(finished_.begin()).mapped());
      for (const auto& sink : sinks_) sink->case_done(record);
      run_.cases.push_back(record);
    }
  }

  RunRecord run_;
  std::vector<Job> jobs_;
  const RunOptions& options_;
  const Sinks& sinks_;
  std::vector<Waiver> waivers_;
  const std::string today_ = today();
  std::mutex sinks_in_use_;                      ///< and of what stands below
  std::map<std::int64_t, CaseRecord> finished_;  ///< and not yet done
  MapKeeper keeper_;
};

}  // namespace

void RunOptions::add_to(CLI::App& app) {
  threads = default_threads();
  files.add_to(app);
  app.add_option("--waivers", waivers,
                 "Cases that may fail, each with a reason, an issue and a last day")
      ->type_name("FILE");
  app.add_flag("--strict", strict, "A skipped case counts as a failure");
  app.add_flag("-v,--verbose", verbose,
               "Say each case before it runs, so that a crash of the process names its case; show "
               "every tensor");
  app.add_option("--threads", threads,
                 "Cases judged at the same time; default: one a core, at most 8")
      ->check(CLI::Range(1, kMostThreads))
      ->type_name("N");
  app.add_option("--shard", shard,
                 "Do part i of n; default: as MPI, Slurm or GoogleTest's variables say")
      ->type_name("i/n");
  app.add_flag("--resume", resume, "Go on with the interrupted run whose report is --json FILE");
}

int run_jobs(std::vector<Job> jobs, std::vector<std::uint64_t> seeds, const RunOptions& given,
             const std::vector<std::string>& argv) {
  auto options = given;
  const auto placement = placement_of(options.shard, process_environment());
  options.files = files_of(placement, given.files);

  auto run = new_run(argv);
  run.seeds = std::move(seeds);
  run.plan = name_plan(jobs);
  run.shard = placement.shard;
  std::erase_if(
      jobs, [&](const Job& job) { return job.record.index % run.shard.count != run.shard.index; });
  run.planned = std::ssize(jobs);
  if (placement.is_rank()) run.environment[kJobFact] = placement.job;

  auto resumed = resumed_cases(run, options);
  auto sinks = open_report_files(options.files, resumed);
  if (!placement.is_rank()) sinks.push_back(console(options));
  note_signals();
  Execution execution(std::move(run), std::move(jobs), options, sinks);
  auto result = execution.finish(std::move(resumed));
  if (const int signal = noted_signal()) die_of(signal);

  if (placement.is_rank()) {
    if (!placement.is_first()) return 0;  // the first rank's exit code is that of the run
    result = gather_ranks(placement, given.files.json);
    auto merged = open_report_files(given.files);
    merged.push_back(console(options));
    replay(result, merged);
    remove_rank_reports(placement, given.files.json);
  }
  return exit_code(result, options.strict);
}

}  // namespace gdr2
