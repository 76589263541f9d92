// SPDX-License-Identifier: Apache-2.0
// gdr2 compare: a new report against an old one.
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "reports/compare.hpp"
#include "reports/report_file.hpp"

namespace gdr2 {
namespace {

struct CompareOptions {
  std::string old_file, new_file;
  bool gate = false, all = false;
};

int compare_reports(const CompareOptions& options) {
  const auto comparison = compare(read_report(options.old_file), read_report(options.new_file));
  std::cout << comparison_text(comparison, options.all);
  const int code = comparison.exit_code();
  return options.gate || code == 3 ? code : 0;
}

}  // namespace

Command add_compare(CLI::App& app) {
  auto* command = app.add_subcommand("compare", "Say what changed from one report to another");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("OLD", options->old_file, "The report to compare with")->required();
  command->add_option("NEW", options->new_file, "The report in question")->required();
  command->add_flag("--gate", options->gate, "Exit with 1 when something got worse");
  command->add_flag("--all", options->all, "Show every change, however small");
  return {command, [options] { return compare_reports(*options); }};
}

}  // namespace gdr2
