// SPDX-License-Identifier: Apache-2.0
// gdr2 gradcheck: gradients of kernels against dual numbers through the forward recurrence.
#include <memory>

#include "cli/commands.hpp"
#include "cli/plan.hpp"
#include "cli/repeatable.hpp"
#include "cli/run.hpp"
#include "cli/shell.hpp"
#include "gradcheck/gradient_check.hpp"
#include "properties/judge/envelope.hpp"
#include "properties/judge/tolerances.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

struct GradcheckOptions {
  Selection selection;
  RunOptions run;
};

Verdict gradcheck(const Kernel& kernel, const Case& c) {
  const auto& problem = c.problem;
  if (const auto reason = kernel.unsupported(problem))
    return {State::kSkipped, "", fmt::format("{}: {}", kernel.name(), *reason), {}};
  if (!problem.backward) return {State::kSkipped, "", "forward only: no gradients", {}};
  const auto inputs = make_inputs(c);
  const auto contract = kernel.contract(problem);
  return compare_gradients(problem, run_backward_of(kernel, problem, inputs),
                           dual_gradients(problem, inputs),
                           make_envelope(problem, inputs, contract).sigma,
                           tolerance::z_of(contract, Name::o));
}

Job make_gradcheck_job(const KernelOnCase& pair) {
  Job job{.record = record_of(pair),
          .judge = [pair] { return gradcheck(*pair.kernel, pair.c); }};
  job.record.note = "gradients against dual numbers";
  job.record.repro =
      fmt::format("gdr2 gradcheck --kernel {} {}", shell_quoted(pair.kernel->name()),
                  shell_quoted(job.record.line));
  return job;
}

int gradcheck_all(const GradcheckOptions& options, const Argv& argv) {
  auto selection = options.selection;
  if (selection.lines.empty() && selection.sets.empty()) selection.sets = {"gradcheck"};
  const auto cases = select_cases(selection);
  std::vector<Job> jobs;
  for (const auto& pair : pair_up(cases, selection.kernels))
    jobs.push_back(make_gradcheck_job(pair));
  return run_jobs(jobs, seeds_of(cases), options.run, argv);
}

}  // namespace

Command add_gradcheck(CLI::App& app, const Argv& argv) {
  auto* command =
      app.add_subcommand("gradcheck", "Check gradients against derivatives of the forward");
  auto options = std::make_shared<GradcheckOptions>();
  auto& selection = options->selection;
  command->add_option("LINE", selection.lines,
                      "Small cases, each one quoted word; default: --set gradcheck");
  add_repeatable(*command, "--set", selection.sets, "A set of cases: gradcheck, or a file of lines",
                 "SET");
  add_repeatable(*command, "--kernel", selection.kernels, "Kernel to check, by name or as PATH.so",
                 "NAME");
  options->run.add_to(*command);
  return {command, [options, argv] { return gradcheck_all(*options, argv); }};
}

}  // namespace gdr2
