// SPDX-License-Identifier: Apache-2.0
// gdr2 help: the pages of the subcommands, for people, for man and for shells.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "cli/commands.hpp"
#include "cli/completion.hpp"
#include "cli/help_page.hpp"
#include "cli/man_page.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

struct HelpOptions {
  std::string name, pages, manual;
  bool completion = false;
};

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) fail("{}: cannot be written", path.string());
}

void write_pages(const CLI::App& app, const std::filesystem::path& folder) {
  for (const auto* command : subcommands(app))
    write(folder / (command->get_name() + ".md"), help_page(*command));
}

void write_manual(const CLI::App& app, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write(folder / "gdr2.1", man_page("gdr2", app.get_description(), kOverview));
  for (const auto* command : subcommands(app)) {
    const auto name = "gdr2-" + command->get_name();
    write(folder / (name + ".1"), man_page(name, command->get_description(), help_page(*command)));
  }
}

const CLI::App& find(const CLI::App& app, const std::string& name) {
  for (const auto* command : subcommands(app))
    if (command->get_name() == name) return *command;
  fail("SUBCOMMAND: there is no '{}'; gdr2 --help names them", name);
}

int help(const CLI::App& app, const HelpOptions& options) {
  if (!options.pages.empty()) write_pages(app, options.pages);
  if (!options.manual.empty()) write_manual(app, options.manual);
  if (options.completion) std::cout << bash_completion(app);
  if (!options.name.empty())
    std::cout << help_page(find(app, options.name));
  else if (options.pages.empty() && options.manual.empty() && !options.completion)
    std::cout << kOverview;
  return 0;
}

}  // namespace

Command add_help(CLI::App& app) {
  auto* command = app.add_subcommand("help", "Show the page of a subcommand, or write the manual");
  auto options = std::make_shared<HelpOptions>();
  command->add_option("SUBCOMMAND", options->name, "Whose page to show; default: docs/CLI.md");
  command->add_option("--write", options->pages, "Write the pages in Markdown to this folder")
      ->type_name("DIR");
  command->add_option("--man", options->manual, "Write the pages of the manual to this folder")
      ->type_name("DIR");
  command->add_flag("--completion", options->completion, "Print the completion for bash");
  return {command, [options, &app] { return help(app, *options); }};
}

}  // namespace gdr2
