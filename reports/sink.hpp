// SPDX-License-Identifier: Apache-2.0
// Where a run goes while it goes: a sink hears of the start, of every case as it starts, as it has
// finished and as it is done, and of the end. Cases are done in the order of the plan, whatever ran
// beside what; they start and finish in any order. A sink never changes a record and never decides
// anything.
#pragma once

#include "reports/record.hpp"

namespace gdr2 {

class ReportSink {
 public:
  virtual ~ReportSink() = default;
  ReportSink(const ReportSink&) = delete;
  ReportSink& operator=(const ReportSink&) = delete;

  void begin(const RunRecord& run) { do_begin(run); }  ///< run.cases is empty
  /// The command that runs the case alone, before it runs: if all else is lost, this names it.
  void case_started(const std::string& repro) { do_case_started(repro); }
  /// As soon as its verdict stands, however many cases before it are still running.
  void case_finished(const CaseRecord& record) { do_case_finished(record); }
  void case_done(const CaseRecord& record) { do_case_done(record); }
  void end(const RunRecord& run) { do_end(run); }  ///< run.cases holds every case done

 protected:
  ReportSink() = default;

 private:
  virtual void do_begin(const RunRecord&) = 0;
  virtual void do_case_started(const std::string&) {}
  virtual void do_case_finished(const CaseRecord&) {}
  virtual void do_case_done(const CaseRecord&) {}
  virtual void do_end(const RunRecord&) = 0;
};

}  // namespace gdr2
