// SPDX-License-Identifier: Apache-2.0
// The help of a subcommand, one text in all places: `gdr2 NAME --help`, docs/cli/NAME.md and the manual.
// What a subcommand is for is written in that page, which is built into the binary; its options come from
// the command line itself, so that no page names an option that there is not, or one too few.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace gdr2 {

/// The texts of docs/cli one after the other, and docs/CLI.md; as of the build.
extern const std::string_view kPages;
extern const std::string_view kOverview;

/// Of a subcommand; one without a page gets its description and options.
std::string help_page(const CLI::App& command);

/// The subcommands that are for people, in the order they were added.
std::vector<const CLI::App*> subcommands(const CLI::App& app);

/// Makes the pages what --help prints.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace gdr2
