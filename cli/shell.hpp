// SPDX-License-Identifier: Apache-2.0
// Words of shell commands that a report tells the reader to run.
#pragma once

#include <string>

namespace gdr2 {

/// `text` as one word, whatever is in it.
inline std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

}  // namespace gdr2
