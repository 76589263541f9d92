// SPDX-License-Identifier: Apache-2.0
#include "cli/report_files.hpp"

#include <CLI/CLI.hpp>

#include "reference/error.hpp"
#include "reports/junit.hpp"
#include "reports/markdown.hpp"
#include "reports/report_file.hpp"
#include "reports/text_sink.hpp"

namespace gdr2 {
namespace {

template <class Sink, class... Arguments>
void open(Sinks& sinks, const char* option, const std::string& path, Arguments&&... arguments) {
  if (path.empty()) return;
  try {
    sinks.push_back(std::make_unique<Sink>(path, std::forward<Arguments>(arguments)...));
  } catch (const Error& error) {
    fail("{}: {}", option, error.what());
  }
}

}  // namespace

void ReportFiles::add_to(CLI::App& app, bool with_json) {
  if (with_json) app.add_option("--json", json, "Write a report to this file")->type_name("FILE");
  app.add_option("--junit", junit, "Write JUnit XML to this file")->type_name("FILE");
  app.add_option("--markdown", markdown, "Write a summary in Markdown to this file, at most 200 kB")
      ->type_name("FILE");
  app.add_option("--html", html, "Write a report to look at, one page that opens offline")
      ->type_name("FILE");
}

Sinks open_report_files(const ReportFiles& files, std::vector<CaseRecord> resumed,
                        const Studies& studies) {
  if (!files.html.empty()) expect_html_page();
  Sinks sinks;
  open<JsonSink>(sinks, "--json", files.json, std::move(resumed));
  open<TextSink>(sinks, "--junit", files.junit, junit_xml);
  open<TextSink>(sinks, "--markdown", files.markdown, markdown_summary);
  open<TextSink>(sinks, "--html", files.html,
                 [studies](const RunRecord& run) { return html_report(run, studies); });
  return sinks;
}

void replay(const RunRecord& run, const Sinks& sinks) {
  auto head = run;
  head.cases.clear();
  for (const auto& sink : sinks) {
    sink->begin(head);
    for (const auto& record : run.cases) {
      sink->case_finished(record);
      sink->case_done(record);
    }
    sink->end(run);
  }
}

}  // namespace gdr2
