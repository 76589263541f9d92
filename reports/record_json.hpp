// SPDX-License-Identifier: Apache-2.0
// A record as JSON and back; to and from are inverses. NaN and infinities, which JSON has no number
// for, are the strings "nan", "inf" and "-inf". The format is reports/schema/report.schema.json; reports
// of schema 1, which had fewer members, are read too.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/json_field.hpp"
#include "reports/record.hpp"

namespace gdr2 {

inline constexpr int kReportSchema = 2;  ///< raised when a reader of the old format would be wrong

/// Everything but the cases.
nlohmann::ordered_json head_to_json(const RunRecord& run);
nlohmann::ordered_json case_to_json(const CaseRecord& record);

/// Throw Error naming the place: "run.json.cases[7].verdict.tensors[3].max_z: not a number".
State state_from(const JsonField& field);
RunRecord head_from_json(const JsonField& field);
CaseRecord case_from_json(const JsonField& field);

}  // namespace gdr2
