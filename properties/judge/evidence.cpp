// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/evidence.hpp"

#include "reference/emulate.hpp"
#include "reference/rounding.hpp"

namespace gdr2 {

Values<double> emulated_as_stored(const Evidence& evidence, const Contract& contract) {
  std::vector<Name> stages;
  for (const auto& [name, x] : evidence.values)
    if (is_stage(name)) stages.push_back(name);
  auto values = emulate(evidence.problem, evidence.inputs, contract, RoundingMode::kNearest, 0, stages);
  std::erase_if(values, [&](const auto& entry) { return !evidence.values.contains(entry.first); });
  for (auto& [name, x] : values) {
    const auto stored = format_of(dtype_of(evidence.problem, name));
    for (auto& value : x) value = round_nearest(value, stored);
  }
  return values;
}

}  // namespace gdr2
