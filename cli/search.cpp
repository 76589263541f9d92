// SPDX-License-Identifier: Apache-2.0
// gdr2 search: cases drawn without end, until the time is up; what fails is made small and saved.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/repeatable.hpp"
#include "cli/shell.hpp"
#include "properties/power/mutant.hpp"
#include "properties/search/search.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSeconds = 1e6;

struct SearchOptions {
  std::string kernel = "cpu.chunk", fault;
  std::string save = "found";
  std::vector<std::string> dtypes;
  double seconds = 60;
  search::Options search;
};

/// Says how far it is, at most ten times a second, and only to a terminal.
class ProgressLine {
 public:
  explicit ProgressLine(double seconds) : seconds_(seconds) {}
  ~ProgressLine() {
    if (terminal_) std::cerr << "\r\x1b[K" << std::flush;
  }

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  void draw(std::int64_t done, std::size_t found) {
    if (!terminal_ || elapsed() < next_) return;
    next_ = elapsed() + 0.1;
    std::cerr << fmt::format("\r\x1b[Ksearching  {:.0f} s left  {} cases  {} found",
                             std::max(0.0, seconds_ - elapsed()), done, found)
              << std::flush;
  }

 private:
  const double seconds_;
  const Clock::time_point start_ = Clock::now();
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  double next_ = 0;
};

/// "bf16_judge" or "bf16_causality", behind the kernel's name without its folders.
std::string name_of(const search::Finding& finding, const std::string& kernel) {
  auto name = kernel.substr(kernel.find_last_of('/') + 1);
  std::ranges::replace(name, '.', '_');
  std::ranges::replace(name, ':', '_');
  return fmt::format("{}_{}_{}", name, to_string(finding.minimal.problem.dtype),
                     finding.law.empty() ? "judge" : finding.law);
}

void print(const search::Finding& finding, const SearchOptions& options) {
  const auto& p = finding.minimal.problem;
  std::map<std::string, std::string> info;
  if (!options.fault.empty()) info["fault"] = options.fault;
  const auto& kernel = options.fault.empty() ? options.kernel : options.fault;
  const auto line =
      search::save_finding(finding, options.save, name_of(finding, kernel), std::move(info));
  std::cout << fmt::format(
      "{}  {}\n    drawn as {}\n    small: {} ({} checks): {} chunks, {} heads, K={} V={}\n",
      to_string(finding.verdict.state), finding.verdict.reason, to_string(finding.origin),
      to_string(p), finding.evaluations, (p.T + kChunk - 1) / kChunk, p.HV, p.K, p.V);
  if (!options.fault.empty())
    std::cout << "    " << line << '\n';
  else if (finding.law.empty())
    std::cout << "    gdr2 repro "
              << shell_quoted(fmt::format("kernel={} {}", options.kernel, line)) << '\n';
  else
    std::cout << fmt::format("    gdr2 laws --law {} --kernel {} {}\n", finding.law,
                             shell_quoted(options.kernel), shell_quoted(line));
}

int run(const SearchOptions& options) {
  auto what = options.search;
  if (!options.dtypes.empty()) what.dtypes.clear();
  for (const auto& dtype : options.dtypes) what.dtypes.push_back(parse_format(dtype, "--dtype"));
  std::unique_ptr<Kernel> mutant;
  if (!options.fault.empty()) mutant = power::make_mutant(power::find_fault(options.fault));
  const auto& kernel = mutant ? *mutant : find_kernel(options.kernel);

  note_signals();
  search::Outcome outcome;
  {
    ProgressLine progress(options.seconds);
    outcome = search::search(kernel, what, [&](std::int64_t done, const auto& findings) {
      progress.draw(done, findings.size());
      return progress.elapsed() < options.seconds && noted_signal() == 0;
    });
  }
  for (const auto& finding : outcome.findings) print(finding, options);
  std::cout << fmt::format("{} cases on {}, {} not supported, {} failed\n\n", outcome.judged,
                           kernel.name(), outcome.skipped, outcome.findings.size())
            << outcome.coverage.to_string();
  if (const int signal = noted_signal()) die_of(signal);
  if (outcome.judged == 0) return 3;
  return outcome.findings.empty() ? 0 : 1;
}

}  // namespace

Command add_search(CLI::App& app) {
  auto* command =
      app.add_subcommand("search", "Draw cases until one fails, make it small and save it");
  auto options = std::make_shared<SearchOptions>();
  command->add_option("--kernel", options->kernel, "Kernel to examine, by name or as PATH.so")
      ->capture_default_str()
      ->type_name("NAME");
  command->add_option("--fault", options->fault, "Examine a CPU kernel with this planted fault")
      ->excludes("--kernel")
      ->type_name("NAME");
  command->add_option("--time", options->seconds, "How long, in seconds or as 60s, 10m, 2h (60)")
      ->transform(
          CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}}))
      ->check(CLI::Range(0.0, kMostSeconds))
      ->type_name("TIME");
  command->add_option("--seed", options->search.seed, "The n-th case of a seed is always the same")
      ->capture_default_str()
      ->type_name("S");
  add_repeatable(*command, "--dtype", options->dtypes, "Only cases of this dtype", "DTYPE");
  command->add_option("--findings", options->search.findings, "Stop after so many failing cases")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--save", options->save, "Folder for the small cases, made when one fails")
      ->capture_default_str()
      ->type_name("DIR");
  return {command, [options] { return run(*options); }};
}

}  // namespace gdr2
