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
  using Bins = std::map<int, std::int64_t>;

  void add(const Case& c);

  /// Cases by decade of the horizon, of cond(I + T) and of the cancellation; and by powers of two, 16
  /// at a time.
  const std::map<std::string, Bins>& cases() const { return cases_; }
  const std::set<std::int64_t>& tails() const { return tails_; }    ///< lengths mod 64
  const std::set<std::int64_t>& groups() const { return groups_; }  ///< HV / H
  const std::set<std::string>& recipes() const { return recipes_; }
  std::int64_t pairs() const { return std::ssize(pairs_); }  ///< of values of two options
  std::int64_t pairs_known() const;                          ///< that the dtypes so far can have

 private:
  std::map<std::string, Bins> cases_;
  std::set<std::int64_t> tails_, groups_;
  std::set<std::string> recipes_;
  std::set<std::pair<std::string, std::string>> pairs_;  // of "option=value" words
};

}  // namespace gdr2::search
