// SPDX-License-Identifier: Apache-2.0
// The subcommands of gdr2, a file each. Each adds its options to the command line and returns what to
// do once they are parsed; that returns the exit code of the process, or throws Error (exit code 2).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace gdr2 {

/// How the process was called; reports hold it.
using Argv = std::vector<std::string>;

struct Command {
  CLI::App* app;
  std::function<int()> run;
};

Command add_help(CLI::App& app);
Command add_list(CLI::App& app);
Command add_verify(CLI::App& app, const Argv& argv);
Command add_laws(CLI::App& app, const Argv& argv);
Command add_gradcheck(CLI::App& app, const Argv& argv);
Command add_judge(CLI::App& app, const Argv& argv);
Command add_calibrate(CLI::App& app, const Argv& argv);
Command add_power(CLI::App& app, const Argv& argv);
Command add_search(CLI::App& app, const Argv& argv);
Command add_repro(CLI::App& app, const Argv& argv);
Command add_report(CLI::App& app);
Command add_merge(CLI::App& app);
Command add_compare(CLI::App& app);
Command add_history(CLI::App& app);
Command add_bench(CLI::App& app, const Argv& argv);
Command add_export(CLI::App& app);
Command add_worker(CLI::App& app);

}  // namespace gdr2
