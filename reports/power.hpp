// SPDX-License-Identifier: Apache-2.0
// What a study of the judge's power found, as plain data: every kernel with a planted fault and what
// caught it, what public rules say of the same outputs, and the perturbations of true results.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/json_field.hpp"

namespace gdr2 {

struct MutantRecord {
  std::string name, kind, what;
  std::string state;             ///< "caught", "survived", "equivalent"
  std::string leg, line, reason; ///< of the catch; of a survivor or an equivalent one why
  std::int64_t judged = 0, differing = 0;
  std::string law, law_line;     ///< the exact law that it breaks; "" when none was found or asked
  std::vector<std::string> rules;  ///< public rules that reject some of the outputs judged
};

/// One kind of perturbation over all cases and tensors.
struct PerturbationRecord {
  std::int64_t tried = 0, rejected = 0;
  std::int64_t within = 0;       ///< of those not rejected: no larger than the contract explains
  std::vector<std::string> missed;  ///< case and tensor of the others: MISTRUSTED
  std::map<std::string, std::int64_t> rules = {};  ///< how many a public rule tells from the right results
};

struct PowerStudy {
  std::vector<std::string> sets;
  std::vector<MutantRecord> mutants;
  std::map<std::string, std::string> rules;                 ///< public rules: name, statement
  std::map<std::string, std::int64_t> rule_false_alarms;    ///< cases of the right kernel they reject
  std::int64_t right_cases = 0, right_alarms = 0;           ///< of the judge on the right kernels
  std::map<std::string, PerturbationRecord> perturbations;  ///< by name

  void add(const PowerStudy& other);  ///< a part with other mutants or other cases
};

/// Caught over non-equivalent ones, of one kind or, with "", of all.
struct MutationScore {
  std::int64_t caught = 0, total = 0;
  std::map<std::string, std::int64_t> by_rule;
};
std::map<std::string, MutationScore> scores_by_kind(const PowerStudy& study);
MutationScore total_score(const PowerStudy& study);

nlohmann::ordered_json power_to_json(const PowerStudy& study);
PowerStudy power_from_json(const JsonField& field);

std::string power_text(const PowerStudy& study);

}  // namespace gdr2
