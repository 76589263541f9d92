// SPDX-License-Identifier: Apache-2.0
#include "cli/run.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "cli/interrupt.hpp"
#include "reference/error.hpp"
#include "reports/console_sink.hpp"
#include "reports/environment.hpp"
#include "reports/report_file.hpp"

namespace gdr2 {
namespace {

using Sinks = std::vector<std::unique_ptr<ReportSink>>;

constexpr int kMostThreads = 256;

/// Enough to keep a workstation busy; a case of a long sequence needs gigabytes, so not one a core.
int default_threads() { return int(std::clamp(std::thread::hardware_concurrency(), 1u, 8u)); }

Sinks open_sinks(const RunOptions& options) {
  Sinks sinks;
  if (!options.json.empty()) try {
      sinks.push_back(std::make_unique<JsonSink>(options.json));
    } catch (const Error& error) {
      fail("--json: {}", error.what());
    }
  sinks.push_back(std::make_unique<ConsoleSink>(std::cout, console_options(options.verbose)));
  return sinks;
}

}  // namespace

void RunOptions::add_to(CLI::App& app) {
  threads = default_threads();
  app.add_option("--json", json, "Write a report to this file (reports/schema)")->type_name("FILE");
  app.add_flag("--strict", strict, "A skipped case counts as a failure");
  app.add_flag("-v,--verbose", verbose, "Say each case before it runs; show every tensor");
  app.add_option("--threads", threads, "Cases judged at the same time")
      ->check(CLI::Range(1, kMostThreads))
      ->capture_default_str()
      ->type_name("N");
}

int run_jobs(const std::vector<Job>& jobs, std::vector<std::uint64_t> seeds,
             const RunOptions& options, const std::vector<std::string>& argv) {
  auto run = new_run(argv);
  run.seeds = std::move(seeds);
  run.planned = std::ssize(jobs);
  const auto start = std::chrono::steady_clock::now();
  const auto sinks = open_sinks(options);
  for (const auto& sink : sinks) sink->begin(run);

  note_signals();
  std::mutex sinks_in_use;
  Crew crew(jobs, options.threads, [&](const CaseRecord& record) {
    const std::lock_guard lock(sinks_in_use);
    for (const auto& sink : sinks) sink->case_started(record.repro);
  });
  while (auto record = crew.next()) {
    const std::lock_guard lock(sinks_in_use);
    for (const auto& sink : sinks) sink->case_done(*record);
    run.cases.push_back(std::move(*record));
  }

  const std::lock_guard lock(sinks_in_use);
  run.complete = run.planned == std::ssize(run.cases);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const auto& sink : sinks) sink->end(run);
  if (const int signal = noted_signal()) die_of(signal);
  return exit_code(run, options.strict);
}

}  // namespace gdr2
