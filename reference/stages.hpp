// SPDX-License-Identifier: Apache-2.0
// Stages of one chunk and head: intermediates that a form records when it is asked for them by name,
// so that they can be exported and judged. What was not asked for costs nothing.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "reference/problem.hpp"
#include "reference/real.hpp"

namespace gdr2 {

template <class Real>
using ChunkStages = std::map<Name, Matrix<Real>>;

inline bool wants(const std::vector<Name>& names, Name name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// make() is called only when the stage is wanted; rows from `rows` on are zeroed.
template <class Real, class Make>
void keep_stage(const std::vector<Name>& wanted, ChunkStages<Real>& stages, Name name,
                Eigen::Index rows, const Make& make) {
  if (!wants(wanted, name)) return;
  Matrix<Real> x = make();
  x.bottomRows(x.rows() - std::min(rows, x.rows())).setZero();
  stages[name] = std::move(x);
}

}  // namespace gdr2
