// SPDX-License-Identifier: Apache-2.0
#include "properties/laws/family.hpp"

namespace gdr2 {

const std::vector<Law>& all_laws() {
  static const std::vector<Law> all = [] {
    std::vector<Law> laws;
    for (const auto& family :
         {laws::conservation_laws(), laws::scaling_laws(), laws::causality_laws(),
          laws::sequence_laws(), laws::head_laws(), laws::equivalence_laws(),
          laws::repetition_laws(), laws::exact_data_laws(), laws::continuation_laws(),
          laws::serving_laws(), laws::reduction_laws()})
      laws.insert(laws.end(), family.begin(), family.end());
    return laws;
  }();
  return all;
}

const Law& find_law(const std::string& name) {
  std::string known;
  for (const auto& law : all_laws()) {
    if (law.name == name) return law;
    known += (known.empty() ? "" : ", ") + law.name;
  }
  fail("law: '{}' is not known; known are {}", name, known);
}

}  // namespace gdr2
