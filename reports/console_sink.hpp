// SPDX-License-Identifier: Apache-2.0
// The report that a person reads while the run goes on: a calm, aligned table, details under what did
// not pass, a summary at the end. On a terminal also colour and a progress line with the time left;
// a file or a pipe gets neither.
#pragma once

#include <functional>
#include <ostream>

#include "reports/console_text.hpp"
#include "reports/sink.hpp"

namespace gdr2 {

struct ConsoleOptions {
  Color color = Color::kNever;
  bool progress = false;
  bool verbose = false;           ///< say each case before it runs, show every tensor
  std::function<double()> clock;  ///< seconds; for the time left
};

/// What standard output deserves: colour and progress on a terminal (no colour when NO_COLOR is set).
ConsoleOptions console_options(bool verbose);

class ConsoleSink : public ReportSink {
 public:
  ConsoleSink(std::ostream& out, ConsoleOptions options) : out_(out), options_(options) {}

 private:
  void do_begin(const RunRecord& run) override;
  void do_case_started(const std::string& repro) override;
  void do_case_done(const CaseRecord& record) override;
  void do_end(const RunRecord& run) override;

  void clear_progress();
  void draw_progress();

  std::ostream& out_;
  ConsoleOptions options_;
  std::int64_t planned_ = 0, done_ = 0;
  double start_ = 0;
};

/// "[########------------]  8/20  0:12 left"; no time before the first case is done.
std::string progress_line(std::int64_t done, std::int64_t planned, double elapsed_seconds);

}  // namespace gdr2
