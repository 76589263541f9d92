// SPDX-License-Identifier: Apache-2.0
// gdr2 repro: the one case of a repro line, with everything said about it.
#include <memory>

#include "cli/commands.hpp"
#include "cli/plan.hpp"
#include "cli/run.hpp"

namespace gdr2 {
namespace {

struct ReproOptions {
  std::string line;
  RunOptions run;
};

int repro(const ReproOptions& options, const Argv& argv) {
  const std::vector cases{parse_kernel_case(options.line)};
  auto run = options.run;
  run.verbose = true;
  return run_jobs(make_jobs(cases, {}), seeds_of(cases), run, argv);
}

}  // namespace

Command add_repro(CLI::App& app, const Argv& argv) {
  auto* command = app.add_subcommand("repro", "Run the case of a repro line again, verbosely");
  auto options = std::make_shared<ReproOptions>();
  command->add_option("LINE", options->line, "'kernel=NAME T=256 recipe=slow seed=7'")->required();
  options->run.add_to(*command);
  return {command, [options, argv] { return repro(*options, argv); }};
}

}  // namespace gdr2
