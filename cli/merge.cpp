// SPDX-License-Identifier: Apache-2.0
// gdr2 merge: the reports of the shards of one run, as the report of the run.
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/report_files.hpp"
#include "reference/error.hpp"
#include "reports/console_sink.hpp"
#include "reports/merge.hpp"
#include "reports/report_file.hpp"

namespace gdr2 {
namespace {

struct MergeOptions {
  std::vector<std::string> shards;
  ReportFiles files;
  bool strict = false;
};

int merge(const MergeOptions& options) {
  std::vector<NamedRun> shards;
  for (const auto& file : options.shards) shards.push_back({file, read_report(file)});
  const auto run = merge_shards(std::move(shards));
  auto sinks = open_report_files(options.files);
  sinks.push_back(std::make_unique<ConsoleSink>(
      std::cout, ConsoleOptions{.color = console_options(false).color}));
  replay(run, sinks);
  return exit_code(run, options.strict);
}

}  // namespace

Command add_merge(CLI::App& app) {
  auto* command = app.add_subcommand("merge", "Put the reports of the shards of a run together");
  auto options = std::make_shared<MergeOptions>();
  command->add_option("FILE", options->shards, "The reports of all shards, in any order")
      ->required();
  options->files.add_to(*command);
  command->add_flag("--strict", options->strict, "A skipped case counts as a failure");
  return {command, [options] { return merge(*options); }};
}

}  // namespace gdr2
