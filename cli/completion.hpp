// SPDX-License-Identifier: Apache-2.0
// Completion of gdr2's command line in bash (and in zsh by its bashcompinit): subcommands, their options,
// and the names that `gdr2 list` knows behind the options that take them. Written from the command line
// itself.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gdr2 {

std::string bash_completion(const CLI::App& app);

}  // namespace gdr2
