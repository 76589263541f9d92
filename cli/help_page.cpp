// SPDX-License-Identifier: Apache-2.0
#include "cli/help_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace gdr2 {
namespace {

constexpr std::string_view kOptions = "## Options\n";
constexpr std::size_t kNameWidth = 20;  ///< of an option; a longer name has a line of its own
constexpr std::size_t kLineWidth = 100;

std::string prose_of(const CLI::App& command) {
  const auto title = fmt::format("# gdr2 {}\n", command.get_name());
  const auto begin = kPages.find(title);
  if (begin == std::string_view::npos)
    return fmt::format("{}\n{}\n\n", title, command.get_description());
  return std::string(kPages.substr(begin, kPages.find(kOptions, begin) - begin));
}

std::string joined_names(const CLI::Option& option) {
  std::string text;
  for (const auto& name : option.get_snames()) text += (text.empty() ? "-" : ", -") + name;
  for (const auto& name : option.get_lnames()) text += (text.empty() ? "--" : ", --") + name;
  return text;
}

std::string usage_of(const CLI::Option& option) {
  if (!option.nonpositional()) {
    const auto name = option.get_name(true);
    return (option.get_required() ? name : '[' + name + ']') +
           (option.get_expected_max() > 1 ? "..." : "");
  }
  if (option.get_type_size() == 0) return joined_names(option);
  const auto type = option.get_type_name();  // NAME, or NAME:CHECK
  return joined_names(option) + ' ' + type.substr(0, type.find(':'));
}

std::string meaning_of(const CLI::Option& option) {
  auto text = option.get_description();
  if (!option.get_default_str().empty()) text += fmt::format(" ({})", option.get_default_str());
  if (!option.nonpositional()) return text;
  if (option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll) text += "; repeatable";
  if (option.get_required()) text += "; required";
  return text;
}

std::string option_text(const CLI::Option& option) {
  auto line = fmt::format("    {:<{}}", usage_of(option), kNameWidth);
  std::string text;
  const auto next_line = [&] {
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    line = std::string(4 + kNameWidth, ' ');
  };
  if (line.size() > 4 + kNameWidth) next_line();
  std::istringstream words(meaning_of(option));
  for (std::string word; words >> word;) {
    if (line.size() + 1 + word.size() > kLineWidth) next_line();
    line += ' ' + word;
  }
  next_line();
  return text;
}

/// Positional words first and --help last.
std::vector<const CLI::Option*> options_of(const CLI::App& command, const std::string& group) {
  auto options =
      command.get_options([&](const CLI::Option* option) { return option->get_group() == group; });
  std::ranges::stable_sort(options, {}, [&](const CLI::Option* option) {
    return option == command.get_help_ptr() ? 2 : option->nonpositional() ? 1 : 0;
  });
  return options;
}

}  // namespace

std::string help_page(const CLI::App& command) {
  auto text = prose_of(command);
  for (const auto& group : command.get_groups()) {
    const auto options = options_of(command, group);
    if (group.empty() || options.empty()) continue;
    text += fmt::format("{}## {}\n\n", text.ends_with("\n\n") ? "" : "\n", group);
    for (const auto* option : options) text += option_text(*option);
  }
  return text;
}

std::vector<const CLI::App*> subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  return app->get_parent() ? help_page(*app)
                           : CLI::Formatter::make_help(app, std::move(name), mode);
}

}  // namespace gdr2
