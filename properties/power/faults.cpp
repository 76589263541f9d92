// SPDX-License-Identifier: Apache-2.0
#include "properties/power/fault.hpp"
#include "reference/error.hpp"

namespace gdr2::power {

const std::vector<Fault>& faults() {
  static const auto all = [] {
    std::vector<Fault> all;
    for (auto* part : {generic_faults, forward_faults, backward_faults, decode_faults, head_faults,
                       call_faults, result_faults, contract_faults})
      for (auto& fault : part()) all.push_back(std::move(fault));
    return all;
  }();
  return all;
}

const Fault& find_fault(const std::string& name) {
  for (const auto& fault : faults())
    if (fault.name == name) return fault;
  fail("mutant: '{}' is not known (`gdr2 list mutants` names them)", name);
}

const std::map<std::string, std::string>& equivalent_faults() {
  static const std::map<std::string, std::string> reasons{
      {"forward.T.first_row", "T is strictly lower triangular: its first row is zero"},
      {"backward.dT.first_row", "dT is strictly lower triangular: its first row is zero"},
  };
  return reasons;
}

}  // namespace gdr2::power
