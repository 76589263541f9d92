// SPDX-License-Identifier: Apache-2.0
#include "cli/search_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/shell.hpp"
#include "fixtures/recipes.hpp"

namespace gdr2 {
namespace {

/// "bf16_judge" or "bf16_causality", behind the kernel's name without its folders.
std::string file_name(const search::Finding& finding, const std::string& kernel) {
  auto name = kernel.substr(kernel.find_last_of('/') + 1);
  std::ranges::replace(name, '.', '_');
  std::ranges::replace(name, ':', '_');
  return fmt::format("{}_{}_{}", name, to_string(finding.minimal.problem.dtype),
                     finding.law.empty() ? "judge" : finding.law);
}

/// The line runs the case on a right kernel too; a planted fault is examined by a search alone.
std::string repro_of(const Hunter& hunter, const search::Finding& finding, const std::string& line,
                     std::uint64_t seed) {
  if (hunter.fault)
    return fmt::format("gdr2 search --fault {} --seed {} --findings 1", hunter.fault->name, seed);
  if (finding.law.empty())
    return "gdr2 repro " + shell_quoted(fmt::format("kernel={} {}", hunter.name, line));
  return fmt::format("gdr2 laws --law {} --kernel {} {}", finding.law, shell_quoted(hunter.name),
                     shell_quoted(line));
}

FindingRecord record_of(const Hunter& hunter, const search::Finding& finding, std::uint64_t seed,
                        const std::string& folder) {
  std::map<std::string, std::string> info;
  if (hunter.fault) info["fault"] = hunter.fault->name;
  const auto& p = finding.minimal.problem;
  const auto line = search::save_finding(finding, folder, file_name(finding, hunter.name), info);
  return {.state = to_string(finding.verdict.state),
          .leg = finding.verdict.leg,
          .law = finding.law,
          .reason = finding.verdict.reason,
          .drawn = to_string(finding.origin),
          .problem = to_string(p),
          .line = line,
          .repro = repro_of(hunter, finding, line, seed),
          .chunks = (p.T + kChunk - 1) / kChunk,
          .heads = p.HV,
          .K = p.K,
          .V = p.V,
          .checks = finding.evaluations,
          .replays = search::replays(hunter.kernel, finding, line)};
}

CoverageRecord record_of(const search::Coverage& coverage) {
  return {.cases = coverage.cases(),
          .tails = {coverage.tails().begin(), coverage.tails().end()},
          .groups = {coverage.groups().begin(), coverage.groups().end()},
          .recipes = {coverage.recipes().begin(), coverage.recipes().end()},
          .recipes_known = std::ssize(drawn_recipes()),
          .pairs = coverage.pairs(),
          .pairs_known = coverage.pairs_known()};
}

}  // namespace

SearchRecord search_and_save(const Hunter& hunter, const search::Options& options,
                             const search::GoOn& go_on, const std::string& folder) {
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = search::search(hunter.kernel, options, go_on);
  SearchRecord record{.kernel = hunter.name, .seed = options.seed};
  if (hunter.fault) {
    record.kernel = hunter.fault->form == power::Form::kChunk ? "cpu.chunk" : "cpu.recurrent";
    record.fault = hunter.fault->name, record.kind = hunter.fault->kind;
  }
  for (const auto dtype : options.dtypes) record.dtypes.emplace_back(to_string(dtype));
  record.judged = outcome.judged, record.skipped = outcome.skipped;
  record.coverage = record_of(outcome.coverage);
  for (const auto& finding : outcome.findings)
    record.findings.push_back(record_of(hunter, finding, options.seed, folder));
  record.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return record;
}

std::string finding_text(const FindingRecord& f) {
  return fmt::format(
      "{}  {}\n    drawn as {}\n    small: {} ({} checks): {} chunks, {} heads, K={} V={}{}\n    {}\n",
      f.state, f.reason, f.drawn, f.problem, f.checks, f.chunks, f.heads, f.K, f.V,
      f.replays ? "" : "; it does NOT fail in the same way from its file", f.repro);
}

}  // namespace gdr2
