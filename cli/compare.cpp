// SPDX-License-Identifier: Apache-2.0
// gdr2 compare: a new report against an old one of the same kind.
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "reference/error.hpp"
#include "reports/compare.hpp"
#include "reports/compare_bench.hpp"
#include "reports/compare_power.hpp"
#include "reports/json_file.hpp"
#include "reports/record_json.hpp"
#include "reports/report_file.hpp"
#include "reports/report_kind.hpp"

namespace gdr2 {
namespace {

constexpr int kNothingInCommon = 3;

struct CompareOptions {
  std::string old_file, new_file;
  bool gate = false, all = false;
};

BenchRun read_bench(const std::string& file) {
  const auto json = read_json(file);
  return bench_from_json({json, file});
}

PowerReport read_power(const std::string& file) {
  const auto json = read_json(file);
  const JsonField field(json, file);
  return {head_from_json(field), power_from_json(field["power"])};
}

/// Says what changed and returns the exit code of the gate.
template <class Report, class... Options>
int compare_as(Report (*read)(const std::string&), const CompareOptions& given,
               Options... options) {
  const auto comparison = compare(read(given.old_file), read(given.new_file));
  std::cout << comparison_text(comparison, options...);
  return comparison.exit_code();
}

RunRecord read_cases(const std::string& file) { return read_report(file); }

int compare_kind(ReportKind kind, const CompareOptions& options) {
  switch (kind) {
    case ReportKind::kCases: return compare_as(read_cases, options, options.all);
    case ReportKind::kBench: return compare_as(read_bench, options);
    case ReportKind::kPower: return compare_as(read_power, options);
    case ReportKind::kCalibration: break;
  }
  fail("{}: a calibration; two of them are added up (gdr2 calibrate --merge), not compared",
       options.new_file);
}

int compare_reports(const CompareOptions& options) {
  const auto old_kind = kind_of_report(options.old_file),
             new_kind = kind_of_report(options.new_file);
  if (old_kind != new_kind)
    fail("{} is a report of {} and {} one of {}", options.old_file, to_string(old_kind),
         options.new_file, to_string(new_kind));
  const int code = compare_kind(new_kind, options);
  return options.gate || code == kNothingInCommon ? code : 0;
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
