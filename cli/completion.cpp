// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.hpp"

#include <fmt/format.h>

#include "cli/help_page.hpp"

namespace gdr2 {
namespace {

/// What options take, as `gdr2 list` names it.
constexpr std::pair<const char*, const char*> kNamed[] = {
    {"--kernel", "kernels"},    {"--peer", "kernels"}, {"--set", "sets"},
    {"--recipe", "recipes"},    {"--law", "laws"},     {"--mutant", "mutants"},
    {"--contract", "contracts"}};

std::string names_of(const CLI::App& app) {
  std::string names;
  for (const auto* command : subcommands(app))
    names += (names.empty() ? "" : " ") + command->get_name();
  return names;
}

/// Of those that take a value, or of all.
std::string options_of(const CLI::App& command, bool with_value, const char* between) {
  std::string names;
  for (const auto* option : command.get_options()) {
    if (!option->nonpositional() || (with_value && option->get_type_size() == 0)) continue;
    for (const auto& name : option->get_lnames())
      names += (names.empty() ? "" : between) + ("--" + name);
  }
  return names;
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  std::string script =
      "# Completion for gdr2, written by `gdr2 help --completion`.\n"
      "_gdr2() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} topic=\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  script += fmt::format(
      "    COMPREPLY=($(compgen -W '{} --help --version' -- \"$word\"))\n    return\n  fi\n",
      names_of(app));
  script += "  case \"$before\" in\n";
  for (const auto& [option, topic] : kNamed)
    script += fmt::format("    {}) topic={} ;;\n", option, topic);
  script +=
      "  esac\n"
      "  if [ -n \"$topic\" ]; then\n"
      "    COMPREPLY=($(compgen -W \"$(\"${COMP_WORDS[0]}\" list $topic 2>/dev/null | awk 'NR > 1 "
      "{ print $1 }')\" "
      "-- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case \"${COMP_WORDS[1]} $before\" in\n"
      "    'list list') "
      "COMPREPLY=($(compgen -W 'contracts kernels laws mutants problems recipes sets' -- "
      "\"$word\")); return ;;\n";
  script += fmt::format("    'help help') COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                        names_of(app));
  for (const auto* command : subcommands(app))
    if (const auto options =
            options_of(*command, true, fmt::format("'|'{} ", command->get_name()).c_str());
        !options.empty())
      script += fmt::format("    '{} {}') return ;;\n", command->get_name(), options);
  script += "  esac\n  [[ $word == -* ]] || return\n  case \"${COMP_WORDS[1]}\" in\n";
  for (const auto* command : subcommands(app))
    script += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n",
                          command->get_name(), options_of(*command, false, " "));
  return script + "  esac\n}\ncomplete -o default -F _gdr2 gdr2\n";
}

}  // namespace gdr2
