// SPDX-License-Identifier: Apache-2.0
// A run as one HTML page that opens offline: the page built from reports/html, with the record put
// into it as JSON. All of the record that a reader can see is chosen here; how it looks is decided
// there.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/record.hpp"

namespace gdr2 {

/// Throws Error saying how to get it when this binary was built without the page.
void expect_html_page();

/// Sections of study files (reports/study_file.hpp) that the page shows too: "power", "calibration".
using Studies = std::map<std::string, nlohmann::ordered_json>;

/// What the page is given, as JSON text.
std::string page_data(const RunRecord& run, const Studies& studies = {});

std::string html_report(const RunRecord& run, const Studies& studies = {});

}  // namespace gdr2
