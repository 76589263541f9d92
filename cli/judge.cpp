// SPDX-License-Identifier: Apache-2.0
// gdr2 judge: results that somebody recorded, against the reference on the inputs in the same file.
#include <memory>

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "cli/shell.hpp"
#include "fixtures/activation_file.hpp"
#include "fixtures/case.hpp"
#include "fixtures/contract_file.hpp"
#include "properties/judge/check.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

struct JudgeOptions {
  std::vector<std::string> files;
  std::string contract;  ///< "": of the dtype that the file's tensors are stored in
  RunOptions run;
};

/// Whose results these are, in the words of the file.
std::string note_on(const ActivationFile& activations) {
  const auto source = activations.info.find("source");
  return fmt::format("recorded results, not those of a kernel of this suite: {}",
                     source == activations.info.end() ? "of unknown source" : source->second);
}

Job judge_job(const std::string& file, const JudgeOptions& options) {
  const auto activations = read_activations(file);
  if (activations.results.empty()) fail("{}: no results to judge: none of o, ht, dq, dk ...", file);
  const Case c{.problem = activations.problem, .file = file};
  const auto contract = options.contract.empty()
                            ? standard_contract(c.problem.dtype)
                            : find_contract(options.contract, "--contract").of(c.problem.dtype);
  auto repro = "gdr2 judge " + shell_quoted(file);
  if (!options.contract.empty()) repro += " --contract " + shell_quoted(options.contract);
  return {
      .record = {.kernel = "recorded",
                 .line = to_string(c),
                 .dtype = std::string(to_string(contract.operand)),
                 .contract = to_string(contract),
                 .repro = repro,
                 .note = note_on(activations)},
      .judge = [=, results = activations.results] { return judge_results(c, contract, results); }};
}

int judge(const JudgeOptions& options, const Argv& argv) {
  std::vector<Job> jobs;
  for (const auto& file : options.files) jobs.push_back(judge_job(file, options));
  auto run = options.run;
  run.verbose = true;
  return run_jobs(jobs, {}, run, argv);
}

}  // namespace

Command add_judge(CLI::App& app, const Argv& argv) {
  auto* command =
      app.add_subcommand("judge", "Judge results recorded in safetensors files, per tensor");
  auto options = std::make_shared<JudgeOptions>();
  command->add_option("FILE", options->files, "Inputs and results of one call (docs/FILES.md)")
      ->required();
  command
      ->add_option("--contract", options->contract,
                   "Arithmetic that is assumed of whoever made the results: a name (`gdr2 list "
                   "contracts`), a file, or fp64 fp32 tf32 bf16 fp16 and sites that differ, as "
                   "bf16,auxiliary=bf16; default: what the inputs are stored in")
      ->type_name("CONTRACT");
  options->run.add_to(*command);
  return {command, [options, argv] { return judge(*options, argv); }};
}

}  // namespace gdr2
