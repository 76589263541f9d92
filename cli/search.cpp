// SPDX-License-Identifier: Apache-2.0
// gdr2 search: cases drawn without end, until the time is up; what fails is made small and saved. On a
// kernel, or on kernels with planted faults, which must be found.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/repeatable.hpp"
#include "cli/search_record.hpp"
#include "properties/power/mutant.hpp"
#include "properties/search/search.hpp"
#include "reference/error.hpp"
#include "reports/environment.hpp"
#include "reports/json_file.hpp"
#include "reports/study_file.hpp"

namespace gdr2 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 1e6;

struct SearchOptions {
  std::string kernel = "cpu.chunk", fault;
  std::string save = "found", json;
  std::vector<std::string> dtypes;
  double seconds = 60;
  std::int64_t cases = 0;  ///< 0: as many as the time allows
  int faults = 0, threads = 1;
  search::Options search;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Says how far it is, at most ten times a second, and only to a terminal.
class ProgressLine {
 public:
  ~ProgressLine() {
    if (terminal_) std::cerr << "\r\x1b[K" << std::flush;
  }

  void draw(const std::string& text) {
    if (!terminal_) return;
    const std::lock_guard lock(mutex_);
    if (seconds_since(start_) < next_) return;
    next_ = seconds_since(start_) + 0.1;
    std::cerr << "\r\x1b[Ksearching  " << text << std::flush;
  }

 private:
  const Clock::time_point start_ = Clock::now();
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::mutex mutex_;
  double next_ = 0;
};

/// One search within the limits of the options.
SearchRecord bounded_search(const Hunter& hunter, const SearchOptions& options,
                            ProgressLine& progress) {
  const auto start = Clock::now();
  const auto go_on = [&, asked = std::int64_t{0}](std::int64_t done, const auto& found) mutable {
    const double left = options.seconds - seconds_since(start);
    progress.draw(fmt::format("{}  {:.0f} s left  {} cases  {} found", hunter.name,
                              std::max(0.0, left), done, found.size()));
    return left > 0 && (options.cases == 0 || asked++ < options.cases) && noted_signal() == 0;
  };
  return search_and_save(hunter, options.search, go_on, options.save);
}

/// A search for each of some faults, on a few threads; in the order of the faults.
std::vector<SearchRecord> search_faults(const std::vector<const power::Fault*>& faults,
                                        SearchOptions options, ProgressLine& progress) {
  options.search.findings = 1;
  std::vector<SearchRecord> records(faults.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = 0; (i = next++) < faults.size();) {
      const auto mutant = power::make_mutant(*faults[i]);
      records[i] = bounded_search({*mutant, faults[i], faults[i]->name}, options, progress);
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < options.threads; ++i) threads.emplace_back(work);
  threads.clear();  // joins
  return records;
}

SearchStudy study_of(const SearchOptions& options) {
  ProgressLine progress;
  if (options.faults > 0)
    return {search_faults(power::sample_of_kinds(options.faults, options.search.seed), options,
                          progress)};
  if (options.fault.empty())
    return {{bounded_search({find_kernel(options.kernel), nullptr, options.kernel}, options, progress)}};
  const auto& fault = power::find_fault(options.fault);
  const auto mutant = power::make_mutant(fault);
  return {{bounded_search({*mutant, &fault, fault.name}, options, progress)}};
}

/// Planted faults that were not found, or whose case is another when read back, are failures.
int conclude_faults(const SearchStudy& study) {
  for (const auto& s : study.searches)
    std::cout << (s.findings.empty() ? fmt::format("NOT FOUND  {} in {} cases\n", s.fault, s.judged)
                                     : s.fault + ": " + finding_text(s.findings.front()));
  const auto small = small_cases(study);
  std::cout << fmt::format(
      "{} of {} faults found, {} replay bit for bit; medians: {} chunks, {} heads, K={} V={}\n",
      small.found, small.searches, small.replayed, small.chunks, small.heads, small.K, small.V);
  return small.replayed == small.searches ? 0 : 1;
}

int conclude(const SearchRecord& search) {
  for (const auto& finding : search.findings) std::cout << finding_text(finding);
  std::cout << fmt::format("{} cases on {}, {} not supported, {} failed\n\n", search.judged,
                           search.fault.empty() ? search.kernel : search.fault, search.skipped,
                           search.findings.size())
            << coverage_text(search.coverage);
  if (search.judged == 0) return 3;
  return search.findings.empty() ? 0 : 1;
}

int run(SearchOptions options, const Argv& argv) {
  auto head = new_run(argv);
  if (!options.dtypes.empty()) options.search.dtypes.clear();
  for (const auto& dtype : options.dtypes)
    options.search.dtypes.push_back(parse_format(dtype, "--dtype"));
  if (!options.json.empty()) must_be_writable(options.json);
  note_signals();
  const auto start = Clock::now();
  const auto study = study_of(options);
  head.seconds = seconds_since(start);
  head.seeds = {options.search.seed};
  head.complete = noted_signal() == 0;
  if (!options.json.empty()) write_study(options.json, head, "search", search_to_json(study));
  const int code = options.faults > 0 ? conclude_faults(study) : conclude(study.searches.front());
  if (const int signal = noted_signal()) die_of(signal);
  return code;
}

void add_limits(CLI::App& command, SearchOptions& options) {
  auto* time = command.add_option("--time", options.seconds, "How long, in seconds (60) or as 10m, 2h")
      ->transform(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}}))
      ->check(CLI::Range(0.0, kMostSeconds))
      ->type_name("TIME");
  command.add_option("--cases", options.cases, "So many cases, however long they take")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->excludes(time)
      ->type_name("N");
  command.add_option("--findings", options.search.findings, "Stop after so many failing cases")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->type_name("N");
}

void add_options(CLI::App& command, SearchOptions& options) {
  auto* kernel =
      command.add_option("--kernel", options.kernel, "Kernel to examine, by name or as PATH.so")
          ->capture_default_str()
          ->type_name("NAME");
  auto* fault =
      command.add_option("--fault", options.fault, "Examine a CPU kernel with this planted fault")
          ->excludes(kernel)
          ->type_name("NAME");
  command.add_option("--faults", options.faults,
                     "A search for each of so many planted faults, drawn over all kinds alike; each must be found")
      ->check(CLI::Range(1, 100000))
      ->excludes(kernel)
      ->excludes(fault)
      ->type_name("N");
  command.add_option("--threads", options.threads, "Faults that are searched for at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->type_name("N");
  command.add_option("--seed", options.search.seed, "The n-th case of a seed is always the same")
      ->capture_default_str()
      ->type_name("S");
  add_repeatable(command, "--dtype", options.dtypes, "Only cases of this dtype", "DTYPE");
  command.add_option("--save", options.save, "Folder for the small cases, made when one fails")
      ->capture_default_str()
      ->type_name("DIR");
  command.add_option("--json", options.json, "Write the report to this file")->type_name("FILE");
}

}  // namespace

Command add_search(CLI::App& app, const Argv& argv) {
  auto* command =
      app.add_subcommand("search", "Draw cases until one fails, make it small and save it");
  auto options = std::make_shared<SearchOptions>();
  add_limits(*command, *options);
  add_options(*command, *options);
  return {command, [options, argv, command] {
            if (command->count("--cases")) options->seconds = kMostSeconds;
            return run(*options, argv);
          }};
}

}  // namespace gdr2
