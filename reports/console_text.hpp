// SPDX-License-Identifier: Apache-2.0
// The words of the console report: a case as a table row, the details of one that did not pass, the
// summary of a run. Plain text from plain records; knows no stream, no terminal and no progress.
#pragma once

#include <string>

#include "reports/record.hpp"

namespace gdr2 {

/// State words in colour, or as they are.
enum class Color { kNever, kAnsi };

std::string table_header();
/// One line: state, kernel, dtype, the worst tensor with its figures, time, case.
std::string table_row(const CaseRecord& record, Color color);

/// Reason and repro command of a case that did not pass, and of its tensors that did not pass (all
/// of its tensors when `verbose`) the figures and the worst elements by name. "" when there is
/// nothing to say.
std::string details(const CaseRecord& record, bool verbose, Color color);

/// Largest errors by dtype and tensor, cases by state, and a command for each case that did not pass.
std::string summary(const RunRecord& run, Color color);

}  // namespace gdr2
