// SPDX-License-Identifier: Apache-2.0
// An option that takes one word and may be given many times: --set a --set b. It never swallows the
// words after it, which are cases.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gdr2 {

inline CLI::Option* add_repeatable(CLI::App& app, const std::string& option,
                                   std::vector<std::string>& words, const std::string& description,
                                   const std::string& type) {
  return app.add_option(option, words, description)
      ->type_name(type)
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

}  // namespace gdr2
