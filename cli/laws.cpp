// SPDX-License-Identifier: Apache-2.0
// gdr2 laws: kernels x cases x laws.
#include <memory>

#include "cli/commands.hpp"
#include "cli/law_power.hpp"
#include "cli/plan.hpp"
#include "cli/repeatable.hpp"
#include "cli/run.hpp"
#include "cli/shell.hpp"
#include "kernels/settings.hpp"
#include "properties/laws/law.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

struct LawsOptions {
  Selection selection;
  std::vector<std::string> laws;
  int faults = 0;
  bool resident = false;
  RunOptions run;
};

std::vector<Law> chosen_laws(const LawsOptions& options) {
  std::vector<Law> chosen;
  for (const auto& name : options.laws) chosen.push_back(find_law(name));
  if (!options.laws.empty()) return chosen;
  for (const auto& law : all_laws())
    if (!options.resident || law.kind == Law::Kind::kBits) chosen.push_back(law);
  return chosen;
}

/// Before a kernel is looked up. A library's memory is reached from its own process alone.
void keep_resident() {
  auto settings = kernel_settings();
  if (settings.isolate) fail("--resident: not with --isolate");
  settings.resident = true;
  settings.worker.clear();
  configure_kernels(std::move(settings));
}

Job make_law_job(const KernelOnCase& pair, const Law& law, bool resident) {
  Job job{.record = record_of(pair), .judge = [pair, law] { return law.check(*pair.kernel, pair.c); }};
  job.record.note = law.name;
  job.record.repro = fmt::format("gdr2 laws{} --law {} --kernel {} {}", resident ? " --resident" : "", law.name,
                                 shell_quoted(pair.kernel->name()), shell_quoted(job.record.line));
  return job;
}

int study(const std::vector<Law>& laws, const std::vector<KernelCase>& cases,
          const LawsOptions& options, const Argv& argv) {
  std::vector<Case> plain;
  for (const auto& c : cases) plain.push_back(c.c);
  return law_power(laws, plain, {options.faults, options.run.threads, options.run.files.json}, argv);
}

int laws(const LawsOptions& options, const Argv& argv) {
  auto selection = options.selection;
  if (selection.lines.empty() && selection.sets.empty())
    selection.sets = {options.faults > 0 ? "laws_small" : "laws"};
  if (options.resident) keep_resident();
  const auto cases = select_cases(selection);
  const auto chosen = chosen_laws(options);
  if (options.faults > 0) return study(chosen, cases, options, argv);
  std::vector<Job> jobs;
  for (const auto& pair : pair_up(cases, selection.kernels))
    for (const auto& law : chosen) jobs.push_back(make_law_job(pair, law, options.resident));
  return run_jobs(jobs, seeds_of(cases), options.run, argv);
}

}  // namespace

Command add_laws(CLI::App& app, const Argv& argv) {
  auto* command = app.add_subcommand("laws", "Check the laws that a right kernel obeys bit for bit");
  auto options = std::make_shared<LawsOptions>();
  auto& selection = options->selection;
  command->add_option("LINE", selection.lines, "Cases, each one quoted word; default: --set laws");
  add_repeatable(*command, "--set", selection.sets,
                 "A set of cases (`gdr2 list sets`), or a file of lines", "SET");
  add_repeatable(*command, "--kernel", selection.kernels,
                 "Kernel to check, by name or as PATH.so", "NAME");
  add_repeatable(*command, "--law", options->laws,
                 "Only this law (`gdr2 list laws` names them)", "NAME");
  command->add_option("--faults", options->faults,
                      "Instead: which of so many planted faults, drawn over all kinds alike, break each law")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  command->add_flag("--resident", options->resident,
                    "Calls and comparisons in the memory of the kernel's library, which then runs in this process; "
                    "without --law the laws that hold to the bit");
  options->run.add_to(*command);
  return {command, [options, argv] { return laws(*options, argv); }};
}

}  // namespace gdr2
