// SPDX-License-Identifier: Apache-2.0
#include "fixtures/random.hpp"
#include "properties/power/fault.hpp"
#include "reference/error.hpp"

namespace gdr2::power {

std::vector<Fault> fresh_faults() {
  std::vector<Fault> all;
  for (auto* part : {generic_faults, row_faults, forward_faults, backward_faults, decode_faults, head_faults,
                     call_faults, option_faults, result_faults, contract_faults})
    for (auto& fault : part()) all.push_back(std::move(fault));
  return all;
}

const std::vector<Fault>& faults() {
  static const auto all = fresh_faults();
  return all;
}

const Fault& find_fault(const std::string& name) {
  for (const auto& fault : faults())
    if (fault.name == name) return fault;
  fail("mutant: '{}' is not known (`gdr2 list mutants` names them)", name);
}

std::vector<const Fault*> sample_of_kinds(int count, std::uint64_t seed) {
  const Random random(seed);
  std::map<std::string, std::vector<const Fault*>> kinds;
  for (const auto& fault : faults())
    if (!equivalent_faults().contains(fault.name)) kinds[fault.kind].push_back(&fault);
  std::vector<const Fault*> sample;
  for (bool more = true; more;) {
    more = false;
    for (auto& [kind, left] : kinds) {
      if (left.empty()) continue;
      if (std::ssize(sample) == count) return sample;
      const auto pick = random.below(Label(kind), std::ssize(left), std::ssize(left));
      sample.push_back(left[pick]);
      left.erase(left.begin() + pick);
      more = true;
    }
  }
  return sample;
}

const std::map<std::string, std::string>& equivalent_faults() {
  static const std::map<std::string, std::string> reasons{
      {"forward.T.first_row", "T is strictly lower triangular: its first row is zero"},
      {"backward.dT.first_row", "dT is strictly lower triangular: its first row is zero"},
  };
  return reasons;
}

}  // namespace gdr2::power
