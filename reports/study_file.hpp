// SPDX-License-Identifier: Apache-2.0
// A report whose findings are not cases but a study of the judge itself (calibration, power): the head
// of every report, no cases, and one section of its own. Valid against report.schema.json like any
// other report.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/record.hpp"

namespace gdr2 {

/// Written beside `path` and renamed, so that it appears whole. Throws Error naming the file.
void write_study(const std::filesystem::path& path, const RunRecord& head,
                 const std::string& section, const nlohmann::ordered_json& content);

/// The section of a study; throws Error naming the file and what it lacks.
nlohmann::ordered_json read_study(const std::filesystem::path& path, const std::string& section);

/// Those of the sections that the file has, maybe none; throws Error naming a file that is no report.
std::map<std::string, nlohmann::ordered_json> read_sections(const std::filesystem::path& path,
                                                            const std::vector<std::string>& names);

}  // namespace gdr2
