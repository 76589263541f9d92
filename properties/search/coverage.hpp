// SPDX-License-Identifier: Apache-2.0
// What a search has been through, in the terms that decide whether a fault can show: how long memory
// lasts, how ill-conditioned the triangular system is, how much the write cancels, which exponents
// occur, which tails, groups and pairs of options. Figures are of the first head of the longest
// sequence, in double.
#pragma once

#include <map>
#include <set>
#include <string>

#include "fixtures/case.hpp"

namespace gdr2::search {

/// Of one case.
struct Regime {
  double horizon = 0;       ///< tokens until a channel has decayed by e, median over channels
  double condition = 1;     ///< cond_2(I + T) of the first chunk
  double cancellation = 1;  ///< largest (|z| + |read|) / |z - read| over tokens
  int exponents = 0;        ///< powers of two between the smallest and largest nonzero input
};

Regime regime_of(const Problem& problem, const Tensors& inputs);

class Coverage {
 public:
  void add(const Case& c);

  /// A table, a line a quantity.
  std::string to_string() const;

 private:
  std::map<int, int> horizons_, conditions_, cancellations_;  // by decade
  std::map<int, int> exponents_;                              // by 16 powers of two
  std::set<std::int64_t> tails_, groups_;                     // T mod 64 of sequences, HV / H
  std::set<std::string> recipes_;
  std::set<std::pair<std::string, std::string>> pairs_;  // of "option=value" words
};

}  // namespace gdr2::search
