// SPDX-License-Identifier: Apache-2.0
// gdr2 history: the reports of a folder, in the order of time.
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "reports/history.hpp"

namespace gdr2 {
namespace {

constexpr int kNothing = 3;

int show_history(const std::string& folder) {
  const auto history = read_history(folder);
  for (const auto& other : history.others) std::cerr << "left out: " << other << '\n';
  if (history.runs.empty() && history.benches.empty()) {
    std::cerr << folder << ": holds no report\n";
    return kNothing;
  }
  std::cout << history_text(history);
  return 0;
}

}  // namespace

Command add_history(CLI::App& app) {
  auto* command =
      app.add_subcommand("history", "Show how errors and times moved over many reports");
  auto folder = std::make_shared<std::string>();
  command->add_option("DIR", *folder, "A folder of reports in JSON")->required();
  return {command, [folder] { return show_history(*folder); }};
}

}  // namespace gdr2
