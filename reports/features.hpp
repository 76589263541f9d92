// SPDX-License-Identifier: Apache-2.0
// What a kernel can be asked for, as a table: each option of a problem with each of its values, and the
// shapes that need code of their own. The rows of the report's kernel x feature matrix, so that "never
// tried" can be said of a kernel and a feature.
#pragma once

#include <string>
#include <vector>

#include "reference/problem.hpp"

namespace gdr2 {

struct Feature {
  std::string group, name;  ///< "gate", "softplus"
  bool (*used_by)(const Problem&);
};

const std::vector<Feature>& features();

/// Indices into features() of what the case of a line asks for. Empty for a case from a file, whose
/// sizes and options stand there and not in the line.
std::vector<int> features_of(const std::string& line);

}  // namespace gdr2
