// SPDX-License-Identifier: Apache-2.0
// gdr2 calibrate: how large the errors of right kernels get, in sigmas, over random cases. Its report
// is where the constants of properties/judge/tolerances.hpp come from.
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/repeatable.hpp"
#include "cli/shell.hpp"
#include "properties/judge/tolerances.hpp"
#include "properties/power/clean_errors.hpp"
#include "properties/power/random_case.hpp"
#include "reference/error.hpp"
#include "reports/calibration.hpp"
#include "reports/environment.hpp"
#include "reports/study_file.hpp"

namespace gdr2 {
namespace {

constexpr const char* kSection = "calibration";
constexpr std::int64_t kMostCases = std::int64_t{1} << 40;
constexpr double kSaveEvery = 60;  // seconds

struct CalibrateOptions {
  std::vector<std::string> kernels{"cpu.chunk"};
  std::vector<std::string> dtypes{"bf16", "fp16", "tf32", "fp32"};
  std::vector<std::string> merge;
  std::string json;
  std::int64_t cases = 100, first = 0;
  int orders = 4;
  double seconds = 0;
  bool resume = false;
};

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

Calibration read(const std::string& file) {
  return calibration_from_json(JsonField(read_study(file, kSection), file));
}

/// The errors of one case by recipe, order and tensor.
void record(const CleanCase& clean, const Case& c, const CalibrationKey& base, Calibration& to) {
  const auto line = to_string(c);
  for (const auto& e : clean.errors) {
    const CalibrationSums sums{e.elements, e.beyond, e.sum_z, e.sum_z2, e.max_z, line};
    auto key = base;
    key.order = e.order;
    key.by = "recipe", key.value = c.recipe;
    to.rows[key].add(sums);
    key.by = "tensor", key.value = to_string(e.name);
    to.rows[key].add(sums);
  }
}

void calibrate_case(const Kernel& kernel, const std::string& dtype, std::int64_t number, int orders,
                    Calibration& to) {
  const double start = now();
  const auto c = random_case(parse_format(dtype, "--dtype"), number);
  const auto name = kernel.name() + ' ' + dtype;
  auto& progress = to.progress[name];
  const auto clean = measure_clean(kernel, c, orders);
  const auto& verdict = clean.verdict;
  ++progress.verdicts[to_string(verdict.state)];
  progress.next = number + 1;
  if (verdict.state == State::kFailed || verdict.state == State::kCrashed)
    to.alarms[fmt::format("kernel={} {}", kernel.name(), to_string(c))] = verdict.reason;
  if (!clean.errors.empty()) {
    const auto contract = kernel.contract(c.problem);
    to.allowed[name] = tolerance::z_of(contract, Name::o);
    record(clean, c, {kernel.name(), dtype, to_string(contract), 0, "", ""}, to);
  }
  progress.seconds += now() - start;
}

void save(const CalibrateOptions& options, RunRecord& head, const Calibration& calibration,
          bool complete) {
  if (options.json.empty()) return;
  head.complete = complete;
  write_study(options.json, head, kSection, calibration_to_json(calibration));
}

/// Case by case, kernels and dtypes in turn, so that a run cut short has measured all of them alike.
bool run_cases(const CalibrateOptions& options, RunRecord& head, Calibration& calibration) {
  const double start = now();
  double saved = start;
  for (const auto& name : options.kernels)
    for (const auto& dtype : options.dtypes) {
      const auto [place, fresh] = calibration.progress.try_emplace(name + ' ' + dtype);
      if (fresh) place->second.first = place->second.next = options.first;
    }
  for (auto number = options.first; number < options.first + options.cases; ++number)
    for (const auto& name : options.kernels)
      for (const auto& dtype : options.dtypes) {
        if (number < calibration.progress.at(name + ' ' + dtype).next) continue;
        if (noted_signal() || (options.seconds > 0 && now() - start > options.seconds)) return false;
        calibrate_case(find_kernel(name), dtype, number, options.orders, calibration);
        if (now() - saved < kSaveEvery) continue;
        head.seconds = now() - start;
        save(options, head, calibration, false);
        saved = now();
      }
  return true;
}

int calibrate(const CalibrateOptions& options, const Argv& argv) {
  auto head = new_run(argv);
  Calibration calibration;
  for (const auto& file : options.merge) calibration.add(read(file));
  if (options.resume) {
    if (options.json.empty()) fail("--resume: without --json there is nothing to resume");
    if (std::filesystem::exists(options.json)) calibration.add(read(options.json));
  }
  for (const auto& name : options.kernels) find_kernel(name);
  note_signals();
  const double start = now();
  const bool complete = !options.merge.empty() || run_cases(options, head, calibration);
  head.seconds = now() - start;
  save(options, head, calibration, complete);
  std::cout << calibration_text(calibration);
  if (const int signal = noted_signal()) die_of(signal);
  return calibration.alarms.empty() ? 0 : 1;
}

void add_options(CLI::App& command, CalibrateOptions& options) {
  add_repeatable(command, "--kernel", options.kernels,
                 "Kernel to measure, by name or as PATH.so; default: cpu.chunk", "NAME");
  add_repeatable(command, "--dtype", options.dtypes, "Format of the products; default: bf16 fp16 tf32 fp32",
                 "DTYPE");
  add_repeatable(command, "--merge", options.merge, "Add up the reports of earlier parts instead of measuring",
                 "FILE");
  command.add_option("--cases", options.cases, "Random cases of each kernel and dtype")
      ->check(CLI::Range(std::int64_t{1}, kMostCases))->capture_default_str()->type_name("N");
  command.add_option("--first", options.first, "Number of the first case")
      ->check(CLI::Range(std::int64_t{0}, kMostCases))->capture_default_str()->type_name("N");
  command.add_option("--orders", options.orders, "Orders of summation of each case")
      ->check(CLI::Range(1, 64))->capture_default_str()->type_name("N");
  command.add_option("--seconds", options.seconds, "Stop after so long, with what is done")
      ->check(CLI::NonNegativeNumber)->type_name("S");
  command.add_option("--json", options.json, "Write the report to this file")->type_name("FILE");
  command.add_flag("--resume", options.resume, "Go on where the report in --json stopped");
}

}  // namespace

Command add_calibrate(CLI::App& app, const Argv& argv) {
  auto* command = app.add_subcommand(
      "calibrate", "Measure the errors of right kernels on random cases, in sigmas");
  auto options = std::make_shared<CalibrateOptions>();
  add_options(*command, *options);
  return {command, [options, argv] { return calibrate(*options, argv); }};
}

}  // namespace gdr2
