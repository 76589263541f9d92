// SPDX-License-Identifier: Apache-2.0
// What the texts of all comparisons (cases, times, power) say in the same words.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

namespace gdr2 {

/// Names under a title with their number; nothing when there is none.
inline std::string name_rows(const char* title, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  auto text = fmt::format("\n{}: {}\n", title, names.size());
  for (const auto& name : names) text += "  " + name + '\n';
  return text;
}

/// Why a comparison cannot be a pass.
inline std::string fault_rows(const std::vector<std::string>& faults) {
  std::string text;
  for (const auto& fault : faults) text += fmt::format("cannot stand for a pass: {}\n", fault);
  return text;
}

/// The last line's first words, by the exit code.
inline const char* outcome_of(int exit_code) {
  return exit_code == 0 ? "No regression" : exit_code == 3 ? "Nothing compared" : "REGRESSION";
}

}  // namespace gdr2
