// SPDX-License-Identifier: Apache-2.0
// A report that is written once, at the end, from the whole record: JUnit, Markdown, HTML. The file
// appears whole or not at all, and a path that cannot be written is refused before anything runs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "reports/sink.hpp"

namespace gdr2 {

class TextSink : public ReportSink {
 public:
  using Render = std::function<std::string(const RunRecord&)>;

  /// Throws Error when the path cannot be written. An older file stays until the end of the run.
  TextSink(std::filesystem::path path, Render render);

 private:
  void do_begin(const RunRecord&) override {}
  void do_end(const RunRecord& run) override;

  std::filesystem::path path_;
  Render render_;
};

}  // namespace gdr2
