// SPDX-License-Identifier: Apache-2.0
// Which planted faults break which law, as plain data. Section "laws" of a report.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gdr2 {

struct LawRecord {
  std::string name, kind, statement;
  std::int64_t spoken = 0;             ///< cases that it says something of
  std::vector<std::string> faults;     ///< that break it
  std::vector<std::string> alarms;     ///< cases in which a right kernel breaks it
  std::string example, line, reason;   ///< one of the faults, where and how
};

struct LawStudy {
  std::vector<std::string> cases;
  std::map<std::string, std::string> faults;  ///< all that were tried: name, kind
  std::vector<LawRecord> laws;

  /// Faults that break this law and no other.
  std::int64_t alone(const LawRecord& law) const;
  /// Faults that break some law.
  std::int64_t caught() const;
};

nlohmann::ordered_json laws_to_json(const LawStudy& study);

std::string laws_text(const LawStudy& study);

}  // namespace gdr2
