// SPDX-License-Identifier: Apache-2.0
// A report on disk. While a run goes on, PATH.partial holds its head and one line for every case
// done, so that whatever ends the run leaves a readable report; at the end PATH is written whole and
// renamed into place, and the partial file goes away. Reading takes either.
#pragma once

#include <filesystem>
#include <fstream>

#include "reports/record.hpp"
#include "reports/sink.hpp"

namespace gdr2 {

class JsonSink : public ReportSink {
 public:
  /// Opens PATH.partial and removes an older report at PATH, which is not to be taken for this
  /// run's. Throws Error when the path cannot be written.
  explicit JsonSink(std::filesystem::path path);

 private:
  void do_begin(const RunRecord& run) override;
  void do_case_done(const CaseRecord& record) override;
  void do_end(const RunRecord& run) override;
  void append(const std::string& line);

  std::filesystem::path path_, partial_path_;
  std::ofstream partial_;
};

/// Reads a finished or a partial report; in a partial one, a last line that was cut is dropped and
/// `complete` is false. Throws Error naming the file and the field.
RunRecord read_report(const std::filesystem::path& path);

}  // namespace gdr2
