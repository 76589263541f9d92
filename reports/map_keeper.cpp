// SPDX-License-Identifier: Apache-2.0
#include "reports/map_keeper.hpp"

#include "reports/accuracy.hpp"

namespace gdr2 {

void MapKeeper::offer(CaseRecord& record) {
  for (auto& tensor : record.verdict.tensors) {
    auto& stats = tensor.stats;
    if (stats.profile.maps.empty() && stats.window.empty()) continue;
    auto& worst = worst_[{record.kernel, record.dtype, tensor_label(tensor)}];
    const Badness badness{tensor.state != State::kPassed, !stats.all_finite(), stats.max_z,
                          -record.index};
    worst.insert(badness);
    if (worst.size() > kMapsKept) worst.erase(worst.begin());
    if (worst.contains(badness)) continue;
    stats.profile.maps.clear();
    stats.window = {};
  }
}

void keep_worst_maps(std::vector<CaseRecord>& cases) {
  MapKeeper keeper;
  for (int round = 0; round < 2; ++round)  // the second knows what the first came to see last
    for (auto& record : cases) keeper.offer(record);
}

}  // namespace gdr2
