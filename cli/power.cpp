// SPDX-License-Identifier: Apache-2.0
// gdr2 power: can the judge fail? Kernels with planted faults, and true results perturbed, against a
// set of cases. What is not rejected is named.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>

#include "cli/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/plan.hpp"
#include "cli/repeatable.hpp"
#include "fixtures/random.hpp"
#include "properties/judge/envelope.hpp"
#include "properties/judge/tolerances.hpp"
#include "properties/power/hunt.hpp"
#include "properties/power/mutant.hpp"
#include "properties/power/perturbation.hpp"
#include "properties/power/public_rules.hpp"
#include "reference/error.hpp"
#include "reports/environment.hpp"
#include "reports/power.hpp"
#include "reports/study_file.hpp"

namespace gdr2 {
namespace {

using namespace power;

struct PowerOptions {
  Selection selection;
  std::vector<std::string> mutants, libraries, merge;
  std::string json, right, kernel = "cpu.chunk";
  bool all = false, laws = false, no_mutants = false, quick = false, verbose = false;
  int sample = 0, places = 0;
  std::uint64_t seed = 1;
  double least = 0;
};

/// The faults asked for: by name, a sample drawn by seed, or all.
std::vector<const Fault*> chosen_faults(const PowerOptions& options) {
  std::vector<const Fault*> chosen;
  for (const auto& name : options.mutants) chosen.push_back(&find_fault(name));
  if (!chosen.empty() || options.no_mutants || !options.libraries.empty()) return chosen;
  for (const auto& fault : faults()) chosen.push_back(&fault);
  if (options.all || options.sample == 0) return chosen;
  const Random random(options.seed);
  for (auto i = std::ssize(chosen); i-- > 1;) std::swap(chosen[i], chosen[random.below("sample", i, i + 1)]);
  chosen.resize(std::min<std::size_t>(chosen.size(), options.sample));
  return chosen;
}

bool beyond_values(const Fault& fault) {
  const auto* call = std::get_if<OnCall>(&fault.change);
  return call && call->after;
}

/// What accused it: a leg of the judge, or what became of its process.
std::string leg_of(const Verdict& verdict) {
  if (verdict.state == State::kCrashed) return "crash";
  return verdict.state == State::kTimedOut ? "hang" : verdict.leg;
}

MutantRecord record_of(const Prey& prey, const std::string& kind, const PowerOptions& options) {
  MutantRecord record{.name = prey.kernel->name(), .kind = kind, .what = prey.kernel->description()};
  record.judged = prey.judged, record.differing = prey.differing;
  record.rules.assign(prey.rules.begin(), prey.rules.end());
  record.state = prey.caught ? "caught" : "survived";
  if (prey.caught) {
    record.leg = leg_of(*prey.caught);
    record.line = prey.line;
    record.reason = prey.caught->reason;
  } else if (const auto found = equivalent_faults().find(record.name); found != equivalent_faults().end()) {
    record.state = "equivalent";
    record.reason = found->second;
  }
  if (options.laws)
    if (const auto broken = law_broken(*prey.kernel))
      record.law = broken->law, record.law_line = broken->line;
  return record;
}

/// Kernels with a fault: the CPU ones, or libraries built from spoiled sources.
struct Hunted {
  std::vector<std::unique_ptr<Kernel>> owned;
  std::vector<Prey> prey;
  std::map<const Kernel*, std::string> kinds;
};

Hunted all_prey(const PowerOptions& options) {
  Hunted hunted;
  for (const auto* fault : chosen_faults(options)) {
    hunted.owned.push_back(make_mutant(*fault));
    hunted.prey.push_back({hunted.owned.back().get(), &right_kernel(fault->form), beyond_values(*fault),
                           {}, {}, 0, 0, {}});
    hunted.kinds[hunted.prey.back().kernel] = fault->kind;
  }
  for (const auto& library : options.libraries) {
    const auto* right = options.right.empty() ? nullptr : &find_kernel(options.right);
    hunted.prey.push_back({&find_kernel(library), right, !right, {}, {}, 0, 0, {}});
    hunted.kinds[hunted.prey.back().kernel] = "library";
  }
  return hunted;
}

void count_rights(const std::vector<RightOnCase>& rights, PowerStudy& study) {
  for (const auto& right : rights) {
    ++study.right_cases;
    study.right_alarms += right.accused;
    for (const auto& rule : right.rules) ++study.rule_false_alarms[rule];
  }
}

void measure_perturbations(const Kernel& kernel, const Case& c, int places, PowerStudy& study) {
  if (kernel.unsupported(c.problem)) return;
  for (const auto& p : perturb(kernel, c, places)) {
    auto& record = study.perturbations[p.name];
    ++record.tried;
    record.rejected += p.rejected;
    for (const auto& rule : p.rules) ++record.rules[rule];
    if (p.rejected) continue;
    const double allowed = tolerance::z_of(kernel.contract(c.problem), p.tensor);
    if (p.size <= allowed)
      ++record.within;
    else
      record.missed.push_back(fmt::format("{} {} (z = {:.3g})", to_string(c), to_string(p.tensor), p.size));
  }
}

/// Cases of 16-bit kernels first: those are what the public rules are made for.
std::vector<KernelCase> ordered_cases(const Selection& selection) {
  auto cases = select_cases(selection);
  std::stable_partition(cases.begin(), cases.end(), [](const KernelCase& c) {
    return c.c.problem.dtype == Format::kBF16 || c.c.problem.dtype == Format::kF16;
  });
  return cases;
}

bool all_caught(const std::vector<Prey>& prey) {
  return std::all_of(prey.begin(), prey.end(), [](const Prey& p) { return p.caught.has_value(); });
}

/// Every leg on what the quick ones let pass, but for faults that change nothing.
void hunt_survivors(const PowerOptions& options, std::vector<Prey>& prey) {
  const auto begin = std::stable_partition(prey.begin(), prey.end(), [](const Prey& p) {
    return p.caught || equivalent_faults().contains(p.kernel->name());
  });
  std::vector<Prey> free(begin, prey.end());
  for (const auto& [kernel, c] : ordered_cases(options.selection)) {
    if (noted_signal() || all_caught(free)) break;
    hunt(c, free, Legs::kAll);
  }
  std::copy(free.begin(), free.end(), begin);
}

PowerStudy study(const PowerOptions& options) {
  PowerStudy study;
  study.sets = options.selection.sets;
  for (const auto& rule : public_rules()) study.rules[rule.name] = rule.statement;
  auto hunted = all_prey(options);
  for (const auto& [kernel, c] : ordered_cases(options.selection)) {
    const bool more = options.places > 0 || !all_caught(hunted.prey);
    if (noted_signal() || !more) break;
    try {
      if (options.places > 0)
        measure_perturbations(find_kernel(kernel.empty() ? options.kernel : kernel), c, options.places, study);
      count_rights(hunt(c, hunted.prey), study);
    } catch (const EnvelopeOverflow&) {
      continue;  // the contract does not cover the case: MISTRUSTED for every kernel
    }
    if (!options.verbose) continue;
    const auto free = std::count_if(hunted.prey.begin(), hunted.prey.end(),
                                    [](const Prey& p) { return !p.caught; });
    std::cerr << fmt::format("{} of {} not caught after {}\n", free, hunted.prey.size(), to_string(c));
  }
  if (!options.quick) hunt_survivors(options, hunted.prey);
  for (const auto& prey : hunted.prey)
    study.mutants.push_back(record_of(prey, hunted.kinds.at(prey.kernel), options));
  return study;
}

int run_study(const PowerOptions& options, const Argv& argv) {
  auto head = new_run(argv);
  note_signals();
  const auto start = std::chrono::steady_clock::now();
  PowerStudy result;
  if (options.merge.empty()) {
    auto given = options;
    if (given.selection.lines.empty() && given.selection.sets.empty()) given.selection.sets = {"smoke", "ci"};
    result = study(given);
  }
  for (const auto& file : options.merge)
    result.add(power_from_json(JsonField(read_study(file, "power"), file)));
  head.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  head.complete = noted_signal() == 0;
  if (!options.json.empty()) write_study(options.json, head, "power", power_to_json(result));
  std::cout << power_text(result);
  if (const int signal = noted_signal()) die_of(signal);
  const auto score = total_score(result);
  const bool missed = std::any_of(result.perturbations.begin(), result.perturbations.end(),
                                  [](const auto& p) { return !p.second.missed.empty(); });
  return missed || result.right_alarms > 0 ||
                 double(score.caught) < options.least / 100 * double(score.total)
             ? 1
             : 0;
}

void add_options(CLI::App& command, PowerOptions& options) {
  command.add_option("LINE", options.selection.lines, "Cases, each one quoted word");
  add_repeatable(command, "--set", options.selection.sets, "A set of cases; default: smoke, then ci", "SET");
  add_repeatable(command, "--mutant", options.mutants, "Only this one (`gdr2 list mutants` names them)",
                 "NAME");
  add_repeatable(command, "--library", options.libraries,
                 "A kernel library with a fault, in place of the CPU ones", "PATH.so");
  command.add_option("--right", options.right, "The library without the fault: its false alarms catch nothing")
      ->type_name("PATH.so");
  add_repeatable(command, "--merge", options.merge, "Add up the reports of parts instead of measuring", "FILE");
  command.add_option("--sample", options.sample, "So many faults, drawn by --seed")
      ->check(CLI::Range(1, 100000))->type_name("N");
  command.add_option("--seed", options.seed, "Of the sample")->type_name("S");
  command.add_flag("--all", options.all, "Every fault, also without --sample");
  command.add_flag("--no-mutants", options.no_mutants, "Perturbations alone");
  command.add_option("--perturb", options.places,
                     "Perturb the true results of each case too, and so many single elements of each tensor")
      ->check(CLI::Range(1, 100000))->type_name("N");
  command.add_option("--kernel", options.kernel, "Whose results --perturb perturbs where a case names none: any kernel, also a library or exec:")
      ->capture_default_str()->type_name("NAME");
  command.add_flag("--quick", options.quick, "Without LOCAL and CONTRACT, which else judge what the other legs let pass");
  command.add_flag("--laws", options.laws, "Say also which exact law each faulty kernel breaks");
  command.add_option("--least", options.least, "Fail when fewer per cent of the faults are caught")
      ->check(CLI::Range(0.0, 100.0))->type_name("PERCENT");
  command.add_flag("-v,--verbose", options.verbose, "Say after each case how many are not caught");
  command.add_option("--json", options.json, "Write the report to this file")->type_name("FILE");
}

}  // namespace

Command add_power(CLI::App& app, const Argv& argv) {
  auto* command = app.add_subcommand("power", "Hold kernels with planted faults against the judge");
  auto options = std::make_shared<PowerOptions>();
  add_options(*command, *options);
  return {command, [options, argv] { return run_study(*options, argv); }};
}

}  // namespace gdr2
