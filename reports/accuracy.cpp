// SPDX-License-Identifier: Apache-2.0
#include "reports/accuracy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace gdr2 {
namespace {

void add(Accuracy& row, const CaseRecord& record, const TensorVerdict& tensor) {
  const auto& s = tensor.stats;
  ++row.cases;
  row.bad += tensor.state != State::kPassed;
  row.has_nan |= s.nan > 0;
  row.all_finite &= s.all_finite();
  if (row.worst_case < 0 || !s.all_finite() || s.max_z > row.max_z) row.worst_case = record.index;
  row.max_z = std::max(row.max_z, s.max_z);
  row.rms_z = std::max(row.rms_z, s.rms_z);
  row.rel_norm = std::max(row.rel_norm, s.rel_norm);
  row.max_ulp = std::max(row.max_ulp, s.max_ulp);
  row.pooled_z += s.rms_z * s.rms_z * double(s.count);
  row.elements += s.count;
  const auto& histogram = s.profile.histogram;
  if (row.histogram.size() < histogram.size()) row.histogram.resize(histogram.size());
  for (std::size_t i = 0; i < histogram.size(); ++i) row.histogram[i] += histogram[i];
}

}  // namespace

std::string tensor_label(const TensorVerdict& tensor) {
  return fmt::format("{}{}", to_string(tensor.stats.name), tensor.leg == "local" ? " *" : "");
}

std::vector<Accuracy> accuracy_of(const RunRecord& run) {
  using Group = std::tuple<std::string, std::string>;
  std::map<Group, std::size_t> order;
  std::map<std::tuple<std::size_t, bool, Name>, Accuracy> rows;
  for (const auto& record : run.cases)
    for (const auto& tensor : record.verdict.tensors) {
      const auto group =
          order.try_emplace({record.kernel, record.dtype}, order.size()).first->second;
      auto& row = rows[{group, tensor.leg == "local", tensor.stats.name}];
      row.kernel = record.kernel, row.dtype = record.dtype, row.tensor = tensor_label(tensor);
      add(row, record, tensor);
    }
  std::vector<Accuracy> table;
  for (auto& [key, row] : rows) {
    row.pooled_z = row.elements > 0 ? std::sqrt(row.pooled_z / double(row.elements)) : 0;
    table.push_back(std::move(row));
  }
  return table;
}

std::string z_text(double max_z, bool has_nan, bool all_finite) {
  if (has_nan) return "NaN";
  if (!all_finite) return "Inf";
  return max_z < 1e4 ? fmt::format("{:.2f}", max_z) : fmt::format("{:.1e}", max_z);
}

std::string state_counts(const RunRecord& run) {
  std::string text;
  for (auto state : {State::kPassed, State::kFailed, State::kMistrusted, State::kCrashed,
                     State::kTimedOut, State::kSkipped}) {
    const auto of_state = [=](const auto& c) { return c.verdict.state == state; };
    const auto count = std::ranges::count_if(run.cases, of_state);
    const auto waived = std::ranges::count_if(
        run.cases, [&](const auto& c) { return of_state(c) && !c.waiver.empty(); });
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(state));
    if (waived > 0) text += fmt::format(" ({} waived)", waived);
  }
  return text;
}

}  // namespace gdr2
