// SPDX-License-Identifier: Apache-2.0
// gdr2 report: a report that exists, shown again or in another form.
#include <fstream>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/repeatable.hpp"
#include "cli/report_files.hpp"
#include "reference/error.hpp"
#include "reports/bench_record.hpp"
#include "reports/console_sink.hpp"
#include "reports/json_file.hpp"
#include "reports/report_file.hpp"
#include "reports/report_kind.hpp"
#include "reports/study_file.hpp"

namespace gdr2 {
namespace {

struct ReportOptions {
  std::string file;
  std::vector<std::string> studies;
  ReportFiles files;
  bool strict = false, verbose = false;
};

/// The sections that the files hold. A report of times is one as a whole.
Studies read_studies(const std::vector<std::string>& files) {
  Studies studies;
  for (const auto& file : files) {
    if (kind_of_report(file) == ReportKind::kBench) {
      auto json = read_json(file);
      bench_from_json({json, file});  // throws what is wrong with it
      studies["bench"] = std::move(json);
      continue;
    }
    const auto found = read_sections(file, {"power", "calibration"});
    studies.insert(found.begin(), found.end());
  }
  return studies;
}

int report(const ReportOptions& options) {
  const auto run = read_report(options.file);
  auto files = options.studies;
  if (!options.files.html.empty() && !options.file.ends_with(".partial"))
    files.push_back(options.file);
  auto sinks = open_report_files(options.files, {}, read_studies(files));
  if (sinks.empty())
    sinks.push_back(std::make_unique<ConsoleSink>(
        std::cout,
        ConsoleOptions{.color = console_options(false).color, .verbose = options.verbose}));
  replay(run, sinks);
  return exit_code(run, options.strict);
}

}  // namespace

Command add_report(CLI::App& app) {
  auto* command = app.add_subcommand("report", "Show a report again, or write it in another form");
  auto options = std::make_shared<ReportOptions>();
  command
      ->add_option("FILE", options->file,
                   "A report in JSON, also one of an interrupted run (FILE.partial)")
      ->required();
  options->files.add_to(*command, false);
  add_repeatable(*command, "--study", options->studies,
                 "A report of gdr2 power, calibrate or bench, to be shown in the same page",
                 "FILE");
  command->add_flag("--strict", options->strict, "A skipped case counts as a failure");
  command->add_flag("-v,--verbose", options->verbose, "Show every tensor");
  return {command, [options] { return report(*options); }};
}

}  // namespace gdr2
