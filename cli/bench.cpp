// SPDX-License-Identifier: Apache-2.0
// gdr2 bench: time of kernels and of peers in one run, round by round in turn, behind a correctness gate.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>

#include "cli/commands.hpp"
#include "cli/plan.hpp"
#include "cli/repeatable.hpp"
#include "properties/judge/check.hpp"
#include "properties/timing/gate.hpp"
#include "properties/timing/work.hpp"
#include "reference/error.hpp"
#include "reports/bench_record.hpp"
#include "reports/environment.hpp"

namespace gdr2 {
namespace {

struct BenchOptions {
  std::vector<std::string> lines, kernels, peers;
  std::string json;
  int rounds = 7, repetitions = 10;
};

/// Training shapes at which kernels of this family are compared in public.
const std::vector<std::string> kTraining{
    "B=8 T=4096 H=16 K=128 V=128 ht=0 loss=o l2norm=1 recipe=slow",
    "T=8192 H=16 K=128 V=128 ht=0 loss=o l2norm=1 recipe=slow",
    "T=32768 H=16 K=128 V=128 ht=0 loss=o l2norm=1 recipe=slow",
    "H=16 K=128 V=128 lens=1300,547,2048,963,271,3063 ht=0 loss=o l2norm=1 recipe=slow"};

struct Entrant {
  const Kernel* kernel;
  bool peer;
};

std::vector<Entrant> entrants_of(const BenchOptions& options) {
  std::vector<Entrant> entrants;
  for (const auto& name : options.kernels) entrants.push_back({&find_kernel(name), false});
  for (const auto& name : options.peers) entrants.push_back({&find_kernel(name), true});
  return entrants;
}

const char* word_of(Pass pass) { return pass == Pass::kForward ? "forward" : "forward+backward"; }

BenchRow row_of(const Kernel& kernel, const Case& c, Pass pass) {
  BenchRow row{.kernel = kernel.name(), .line = to_string(c), .pass = word_of(pass)};
  row.floor_bytes = floor_bytes(c.problem, pass);
  row.operations = operations(c.problem, pass);
  return row;
}

/// What is waited for, on the standard error.
void say(const char* what, const std::string& who, const std::string& where) {
  std::cerr << fmt::format("{}: {}, {}", what, who, where) << std::endl;
}

/// Verdicts on the cases cut short, by kernel and case. They all come before anything is timed, at once:
/// it is the judge that takes the time, and it must not run beside a stopwatch.
using Gates = std::map<std::pair<const Kernel*, std::string>, Verdict>;

Gates judge_gates(const std::vector<Case>& cases, const std::vector<Entrant>& entrants) {
  std::map<std::pair<const Kernel*, std::string>, std::future<Verdict>> running;
  for (const auto& c : cases)
    for (const auto& entrant : entrants) {
      auto& verdict = running[{entrant.kernel, to_string(cut_short(c))}];
      if (!verdict.valid())
        verdict = std::async(std::launch::async, [c, kernel = entrant.kernel] {
          return check_short(*kernel, cut_short(c));
        });
    }
  Gates gates;
  for (auto& [which, verdict] : running) {
    const auto& [kernel, line] = which;
    say("gate", kernel->name(), line);  // a kernel that tunes itself does so now, for minutes
    gates[which] = verdict.get();
  }
  return gates;
}

/// One case: every entrant that passes the gate, timed in turn, pass by pass on the same inputs.
class Contest {
 public:
  Contest(const Case& c, const std::vector<Entrant>& entrants, const Gates& gates,
          const BenchOptions& options)
      : case_(c), entrants_(entrants), options_(options), inputs_(make_inputs(c)) {
    for (const auto& entrant : entrants_)
      gates_.push_back(
          through(*entrant.kernel, gates.at({entrant.kernel, to_string(cut_short(c))})));
  }

  std::vector<BenchRow> run(Pass pass) {
    auto problem = case_.problem;
    problem.backward = pass == Pass::kForwardBackward;
    std::vector<BenchRow> rows;
    std::vector<TimedCall> calls(entrants_.size());
    std::vector<std::vector<double>> all(entrants_.size());
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      rows.push_back(row_of(*entrants_[i].kernel, case_, pass));
      note(gates_[i], rows[i]);
      prepare(*entrants_[i].kernel, problem, pass, rows[i], calls[i]);
    }
    for (int round = 0; round < options_.rounds; ++round)
      for (std::size_t n = 0; n < calls.size(); ++n) {
        const auto i =
            round % 2 ? calls.size() - 1 - n : n;  // in turn, every second round backwards
        if (calls[i].run) time_round(calls[i], rows[i], all[i]);
      }
    for (std::size_t i = 0; i < rows.size(); ++i) spread(all[i], rows[i]);
    return rows;
  }

 private:
  /// After the short case the first tokens of the full size.
  Verdict through(const Kernel& kernel, const Verdict& verdict_on_short) const {
    if (verdict_on_short.state != State::kPassed) return verdict_on_short;
    return check_first_tokens(kernel, case_.problem, inputs_);
  }

  static void note(const Verdict& verdict, BenchRow& row) {
    row.gate = verdict.state;
    row.reason = verdict.reason;
  }

  void prepare(const Kernel& kernel, const Problem& problem, Pass pass, BenchRow& row,
               TimedCall& call) {
    if (row.gate != State::kPassed) return;
    guarded(row, [&] {
      Tensors given;
      for (auto name : input_names(problem)) given[name] = inputs_.at(name);
      call = kernel.prepare_timing(problem, given, pass);
      call.run(2);  // warm
      row.kernels_ms = call.kernels_ms;
      row.memory_bytes = call.memory_bytes;
      row.copy_gb_per_s = call.copy_gb_per_s;
      row.tensor_tflop_per_s = call.tensor_tflop_per_s;
      row.device = call.device;
    });
    if (row.gate != State::kPassed) call = {};
  }

  void time_round(TimedCall& call, BenchRow& row, std::vector<double>& all) {
    guarded(row, [&] {
      const auto ms = call.run(options_.repetitions);
      row.ms.push_back(median_of(ms));
      all.insert(all.end(), ms.begin(), ms.end());
    });
    if (row.gate != State::kPassed) call = {}, row.ms.clear();
  }

  template <class Body>
  static void guarded(BenchRow& row, const Body& body) {
    try {
      body();
    } catch (const KernelFault& fault) {
      note(verdict_of(fault), row);
    } catch (const std::exception& error) {
      note({State::kCrashed, "", error.what(), {}}, row);
    }
  }

  static void spread(std::vector<double> ms, BenchRow& row) {
    if (ms.empty()) return;
    std::ranges::sort(ms);
    row.p10_ms = ms[std::size_t(0.1 * double(ms.size() - 1))];
    row.p90_ms = ms[std::size_t(0.9 * double(ms.size() - 1))];
  }

  Case case_;
  const std::vector<Entrant>& entrants_;
  const BenchOptions& options_;
  Tensors inputs_;
  std::vector<Verdict> gates_;
};

/// What the driver says of the device's clocks; "" without one.
std::string clocks() {
  auto* pipe = popen(
      "nvidia-smi --query-gpu=clocks.sm,clocks.mem,power.draw --format=csv,noheader 2>/dev/null",
      "r");
  if (!pipe) return "";
  std::array<char, 256> line{};
  std::string text = std::fgets(line.data(), line.size(), pipe) ? line.data() : "";
  pclose(pipe);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void add_ratios(const std::vector<Entrant>& entrants, const std::vector<BenchRow>& rows,
                BenchRun& bench) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < rows.size(); ++j)
      if (!entrants[i].peer && entrants[j].peer && !rows[i].ms.empty() && !rows[j].ms.empty())
        bench.ratios.push_back(ratio_of(rows[i], rows[j]));
}

void write(const std::string& path, const BenchRun& bench) {
  std::ofstream file(path);
  file << bench_json(bench);
  if (!file) fail("--json: {}: cannot be written", path);
}

int bench(BenchOptions options, const Argv& argv) {
  if (options.lines.empty()) options.lines = kTraining;
  std::vector<Case> cases;
  for (const auto& line : options.lines) cases.push_back(parse_kernel_case(line).c);
  const auto entrants = entrants_of(options);
  BenchRun bench{
      .run = new_run(argv), .rounds = options.rounds, .repetitions = options.repetitions};
  if (!options.json.empty()) write(options.json, bench);  // before hours of work, not after
  bench.clocks = clocks();
  const auto gates = judge_gates(cases, entrants);
  for (const auto& c : cases) {
    Contest contest(c, entrants, gates, options);
    for (const Pass pass : {Pass::kForward, Pass::kForwardBackward}) {
      if (pass == Pass::kForwardBackward && !c.problem.backward) continue;
      say("times", word_of(pass), to_string(c));
      const auto rows = contest.run(pass);
      bench.rows.insert(bench.rows.end(), rows.begin(), rows.end());
      add_ratios(entrants, rows, bench);
      if (!options.json.empty())
        write(options.json, bench);  // what is measured stays, whatever follows
    }
  }
  if (!bench.clocks.empty()) bench.clocks += "; " + clocks();
  bench.run.complete = true;
  if (!options.json.empty()) write(options.json, bench);
  std::cout << bench_text(bench);
  return exit_code(bench);
}

}  // namespace

Command add_bench(CLI::App& app, const Argv& argv) {
  auto* command =
      app.add_subcommand("bench", "Time kernels and peers in one run, behind a correctness gate");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("LINE", options->lines,
                      "Cases, each one quoted word; default: four training shapes");
  add_repeatable(*command, "--kernel", options->kernels, "Kernel to time", "NAME")->required();
  add_repeatable(*command, "--peer", options->peers, "Kernel to hold them against", "NAME");
  command
      ->add_option("--rounds", options->rounds,
                   "Rounds, in each of which every kernel is timed once")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--repetitions", options->repetitions, "Calls of a kernel in a round")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str()
      ->type_name("N");
  command
      ->add_option("--json", options->json,
                   "Write a report to this file, rewritten after each case")
      ->type_name("FILE");
  return {command, [options, argv] { return bench(*options, argv); }};
}

}  // namespace gdr2
