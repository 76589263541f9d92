// SPDX-License-Identifier: Apache-2.0
// gdr2 history: the reports of a folder, in the order of time.
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "reports/history.hpp"

namespace gdr2 {
namespace {

constexpr int kNothing = 3;

int history(const std::string& folder) {
  std::vector<std::string> others;
  const auto runs = read_history(folder, others);
  for (const auto& other : others) std::cerr << "left out: " << other << '\n';
  if (runs.empty()) {
    std::cerr << folder << ": holds no report\n";
    return kNothing;
  }
  std::cout << history_text(runs);
  return 0;
}

}  // namespace

Command add_history(CLI::App& app) {
  auto* command = app.add_subcommand("history", "Show how the errors moved over many reports");
  auto folder = std::make_shared<std::string>();
  command->add_option("DIR", *folder, "A folder of reports in JSON")->required();
  return {command, [folder] { return history(*folder); }};
}

}  // namespace gdr2
