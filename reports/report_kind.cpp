// SPDX-License-Identifier: Apache-2.0
#include "reports/report_kind.hpp"

#include "reports/json_file.hpp"

namespace gdr2 {

const char* to_string(ReportKind kind) {
  switch (kind) {
    case ReportKind::kCases: return "cases";
    case ReportKind::kBench: return "bench";
    case ReportKind::kPower: return "power";
    case ReportKind::kCalibration: return "calibration";
  }
  return "";
}

ReportKind kind_of_report(const std::filesystem::path& path) {
  const auto json = nlohmann::ordered_json::parse(read_text(path), nullptr, false);
  if (!json.is_object()) return ReportKind::kCases;
  if (json.value("kind", "") == "bench") return ReportKind::kBench;
  if (json.contains("power")) return ReportKind::kPower;
  return json.contains("calibration") ? ReportKind::kCalibration : ReportKind::kCases;
}

}  // namespace gdr2
