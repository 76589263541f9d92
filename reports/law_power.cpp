// SPDX-License-Identifier: Apache-2.0
#include "reports/law_power.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gdr2 {
namespace {

std::map<std::string, std::int64_t> laws_broken(const LawStudy& study) {
  std::map<std::string, std::int64_t> broken;
  for (const auto& law : study.laws)
    for (const auto& fault : law.faults) ++broken[fault];
  return broken;
}

}  // namespace

std::int64_t LawStudy::alone(const LawRecord& law) const {
  const auto broken = laws_broken(*this);
  return std::ranges::count_if(law.faults, [&](const auto& fault) { return broken.at(fault) == 1; });
}

std::int64_t LawStudy::caught() const { return std::ssize(laws_broken(*this)); }

nlohmann::ordered_json laws_to_json(const LawStudy& study) {
  nlohmann::ordered_json json{{"cases", study.cases},
                              {"caught", study.caught()},
                              {"laws", nlohmann::ordered_json::array()},
                              {"faults", study.faults}};
  for (const auto& law : study.laws)
    json["laws"].push_back({{"name", law.name},
                            {"kind", law.kind},
                            {"statement", law.statement},
                            {"spoken", law.spoken},
                            {"caught", std::ssize(law.faults)},
                            {"alone", study.alone(law)},
                            {"example", law.example},
                            {"line", law.line},
                            {"reason", law.reason},
                            {"alarms", law.alarms},
                            {"faults", law.faults}});
  return json;
}

std::string laws_text(const LawStudy& study) {
  auto text = fmt::format("{:<26}{:<10}{:>7}{:>8}{:>7}  {}\n", "law", "kind", "cases", "faults",
                          "alone", "for example");
  for (const auto& law : study.laws) {
    text += fmt::format("{:<26}{:<10}{:>7}{:>8}{:>7}  {}\n", law.name, law.kind, law.spoken,
                        law.faults.size(), study.alone(law),
                        law.faults.empty() ? "NONE: it cannot fail" : law.example);
    for (const auto& line : law.alarms) text += fmt::format("  FALSE ALARM  {}\n", line);
  }
  return text + fmt::format("{} of {} faults break a law\n", study.caught(), study.faults.size());
}

}  // namespace gdr2
