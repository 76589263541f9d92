// SPDX-License-Identifier: Apache-2.0
// A report on disk. While a run goes on, PATH.partial holds its head and one line for every case that
// has finished, so that whatever ends the run leaves a readable report, from which it can be resumed;
// at the end PATH is written whole, a case a line, and renamed into place, and the partial file goes
// away. Reading takes either.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>

#include "reports/record.hpp"
#include "reports/sink.hpp"

namespace gdr2 {

class JsonSink : public ReportSink {
 public:
  /// Opens PATH.partial and removes an older report at PATH, which is not to be taken for this
  /// run's. Throws Error when the path cannot be written.
  /// A run that is resumed gives the cases it has: they stand in the partial file from the start.
  explicit JsonSink(std::filesystem::path path, std::vector<CaseRecord> resumed = {});

 private:
  void do_begin(const RunRecord& run) override;
  void do_case_finished(const CaseRecord& record) override;
  void do_end(const RunRecord& run) override;
  void append(const std::string& line);

  std::filesystem::path path_, partial_path_;
  std::vector<CaseRecord> resumed_;
  std::ofstream partial_;
};

/// The JSON text of a report.
std::string report_text(const RunRecord& run);

/// Reads a finished or a partial report; in a partial one, a last line that was cut is dropped,
/// `complete` is false, and cases stand in the order of the plan. Throws Error naming the file and
/// the field.
RunRecord read_report(const std::filesystem::path& path);

/// What is left of a run that was to write PATH: its report if there is one, else its partial report.
std::optional<RunRecord> read_unfinished(const std::filesystem::path& path);

}  // namespace gdr2
