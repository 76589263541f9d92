// SPDX-License-Identifier: Apache-2.0
// gdr2 verify: kernels x cases, each judged against the reference.
#include <charconv>
#include <memory>

#include "cli/commands.hpp"
#include "cli/plan.hpp"
#include "cli/repeatable.hpp"
#include "cli/run.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

constexpr std::uint64_t kMostSeeds = 1'000'000;

struct VerifyOptions {
  Selection selection;
  std::string seed;  ///< as given: CLI11 reads optional numbers too leniently
  RunOptions run;
};

std::uint64_t parse_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, seed);
  if (error != std::errc{} || stop != end)
    fail("--seed: '{}' is not an integer in 0 .. 2^64 - 1", text);
  return seed;
}

int verify(const VerifyOptions& options, const Argv& argv) {
  auto selection = options.selection;
  if (!options.seed.empty()) selection.seed = parse_seed(options.seed);
  if (selection.lines.empty() && selection.sets.empty())
    fail("nothing to verify: give a LINE or --set (`gdr2 list sets` names them)");
  const auto cases = select_cases(selection);
  return run_jobs(make_jobs(cases, selection.kernels), seeds_of(cases), options.run, argv);
}

}  // namespace

Command add_verify(CLI::App& app, const Argv& argv) {
  auto* command = app.add_subcommand("verify", "Judge kernels on cases, element by element");
  auto options = std::make_shared<VerifyOptions>();
  auto& selection = options->selection;
  command->add_option("LINE", selection.lines,
                      "Cases, each one quoted word: 'T=256 H=2 recipe=slow'");
  add_repeatable(
      *command, "--set", selection.sets,
      "A set of cases, built in (`gdr2 list sets`) or a file with a line a case and # comments",
      "SET");
  add_repeatable(*command, "--kernel", selection.kernels,
                 "Kernel to judge: a name, a library PATH.so, exec:COMMAND or NAME=exec:COMMAND; "
                 "default: all that "
                 "support the case",
                 "NAME");
  add_repeatable(*command, "--recipe", selection.recipes,
                 "Run each drawn case with this recipe instead", "NAME");
  command->add_option("--seed", options->seed, "Run each drawn case with this seed instead")
      ->type_name("S");
  command
      ->add_option("--seeds", selection.seeds,
                   "Run each drawn case with N seeds, counting up from its own or from S")
      ->check(CLI::Range(std::uint64_t{1}, kMostSeeds))
      ->type_name("N");
  command->add_flag("--forward", selection.forward_only, "Of each case only the forward pass");
  options->run.add_to(*command);
  return {command, [options, argv] { return verify(*options, argv); }};
}

}  // namespace gdr2
