// SPDX-License-Identifier: Apache-2.0
// Keeps a report small: error maps and neighbour windows stay with the kMapsKept worst tensors of each
// kernel, dtype and tensor name, and are taken from all others. What stays does not depend on the
// order in which cases are offered, nor on the shards that they ran in.
#pragma once

#include <map>
#include <set>
#include <tuple>

#include "reports/record.hpp"

namespace gdr2 {

inline constexpr std::size_t kMapsKept = 1;

class MapKeeper {
 public:
  /// Takes the maps of the tensors that cannot be among the worst any more.
  void offer(CaseRecord& record);

 private:
  using Group = std::tuple<std::string, std::string, std::string>;  // kernel, dtype, tensor
  using Badness =
      std::tuple<bool, bool, double, std::int64_t>;  // not passed, not finite, z, -index
  std::map<Group, std::set<Badness>> worst_;
};

/// Takes the maps of all but the worst.
void keep_worst_maps(std::vector<CaseRecord>& cases);

}  // namespace gdr2
