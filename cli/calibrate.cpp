// SPDX-License-Identifier: Apache-2.0
// gdr2 calibrate: how large the errors of right kernels get, in sigmas, over random cases. Its report
// is where the constants of properties/judge/tolerances.hpp come from.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/repeatable.hpp"
#include "cli/shell.hpp"
#include "properties/judge/check.hpp"
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
  int orders = 4, threads = 1;
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
    const CalibrationSums sums{e.elements, e.beyond, e.sum_z, e.sum_z2, e.max_z, line, e.explained};
    auto key = base;
    key.order = e.order;
    key.by = "recipe", key.value = c.recipe;
    to.rows[key].add(sums);
    key.by = "tensor", key.value = to_string(e.name);
    to.rows[key].add(sums);
  }
}

/// What the judge saw beyond GLOBAL of results: stages, and chunks from the kernel's own states.
void record_judged(const Verdict& verdict, const Contract& contract, const Case& c, const CalibrationKey& base,
                   Calibration& to) {
  for (const auto& tensor : verdict.tensors) {
    const bool local = tensor.leg == "local";
    if (!local && !is_stage(tensor.stats.name)) continue;
    auto key = base;
    key.by = local ? "chunk" : "stage", key.value = to_string(tensor.stats.name);
    const auto& s = tensor.stats;
    to.rows[key].add({s.count, tensor.state == State::kFailed, 0, double(s.count) * s.rms_z * s.rms_z, s.max_z, to_string(c)});
    to.allowed[fmt::format("{} {} {} {}", key.kernel, key.dtype, key.by, key.value)] = tolerance::z_of(contract, s.name);
  }
}

/// One case of a dtype on every kernel: kernels of one contract share its envelope.
Calibration calibrate_case(const std::vector<std::string>& kernels, const std::string& dtype,
                           std::int64_t number, int orders) {
  Calibration to;
  const auto c = random_case(parse_format(dtype, "--dtype"), number);
  EnvelopeMemo memo;
  for (const auto& kernel_name : kernels) {
    const double start = now();
    const auto& kernel = find_kernel(kernel_name);
    const auto name = kernel_name + ' ' + dtype;
    auto& progress = to.progress[name];
    const auto clean = measure_clean(kernel, c, orders, memo);
    const auto& verdict = clean.verdict;
    ++progress.verdicts[to_string(verdict.state)];
    progress.first = number, progress.next = number + 1;
    if (accuses(verdict))
      to.alarms[fmt::format("kernel={} {}", kernel.name(), to_string(c))] = verdict.reason;
    if (!clean.errors.empty()) {
      const auto contract = kernel.contract(c.problem);
      const CalibrationKey base{kernel.name(), dtype, to_string(contract), 0, "", ""};
      to.allowed[name] = tolerance::z_of(contract, Name::o);
      record(clean, c, base, to);
      record_judged(verdict, contract, c, base, to);
    }
    progress.seconds += now() - start;
  }
  return to;
}

void save(const CalibrateOptions& options, RunRecord& head, const Calibration& calibration,
          bool complete) {
  if (options.json.empty()) return;
  head.complete = complete;
  write_study(options.json, head, kSection, calibration_to_json(calibration));
}

/// Cases on many threads, added up in their order, so that a run cut short holds the first so many of each
/// kernel and dtype and nothing else.
class Cases {
 public:
  Cases(const CalibrateOptions& options, RunRecord& head, Calibration& sum)
      : options_(options), head_(head), sum_(sum) {
    for (auto number = options.first; number < options.first + options.cases; ++number)
      for (const auto& dtype : options.dtypes)
        if (auto kernels = kernels_left(dtype, number); !kernels.empty())
          units_.push_back({number, dtype, std::move(kernels)});
    done_.resize(units_.size());
  }

  /// Whether all of them were measured.
  bool run() {
    std::vector<std::thread> crew;
    for (int i = 1; i < options_.threads; ++i) crew.emplace_back([this] { work(); });
    work();
    for (auto& thread : crew) thread.join();
    head_.seconds = now() - start_;
    return added_ == units_.size();
  }

 private:
  struct Unit {
    std::int64_t number;
    std::string dtype;
    std::vector<std::string> kernels;
  };

  std::vector<std::string> kernels_left(const std::string& dtype, std::int64_t number) const {
    std::vector<std::string> left;
    for (const auto& kernel : options_.kernels) {
      const auto found = sum_.progress.find(kernel + ' ' + dtype);
      if (found == sum_.progress.end() || number >= found->second.next) left.push_back(kernel);
    }
    return left;
  }

  bool out_of_time() const { return options_.seconds > 0 && now() - start_ > options_.seconds; }

  void work() {
    for (;;) {
      const auto i = next_++;
      if (i >= units_.size() || noted_signal() || out_of_time()) return;
      const auto& unit = units_[i];
      auto part = calibrate_case(unit.kernels, unit.dtype, unit.number, options_.orders);
      const std::lock_guard lock(mutex_);
      done_[i] = std::move(part);
      for (; added_ < done_.size() && done_[added_]; ++added_) {
        sum_.add(*done_[added_]);
        done_[added_].reset();
      }
      if (now() - saved_ < kSaveEvery) continue;
      head_.seconds = now() - start_;
      save(options_, head_, sum_, false);
      saved_ = now();
    }
  }

  const CalibrateOptions& options_;
  RunRecord& head_;
  Calibration& sum_;
  std::vector<Unit> units_;
  std::vector<std::optional<Calibration>> done_;
  std::atomic<std::size_t> next_ = 0;
  std::size_t added_ = 0;
  std::mutex mutex_;
  double start_ = now(), saved_ = start_;
};

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
  const bool complete = !options.merge.empty() || Cases(options, head, calibration).run();
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
  command.add_option("--threads", options.threads, "Cases measured at the same time")
      ->check(CLI::Range(1, 1024))->capture_default_str()->type_name("N");
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
