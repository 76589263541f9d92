// SPDX-License-Identifier: Apache-2.0
// The reports that are written as a whole: JUnit XML, Markdown, and what the HTML page is given.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reports/html_page.hpp"
#include "reports/html_report.hpp"
#include "reports/junit.hpp"
#include "reports/markdown.hpp"
#include "reports/text_sink.hpp"
#include "tests/reports/golden.hpp"
#include "tests/reports/sample_run.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Junit, IsTheGoldenFile) { expect_golden(junit_xml(sample_run()), "junit.xml"); }

TEST(Junit, HoldsNoCharacterThatXmlDoesNot) {
  auto run = sample_run();
  run.cases[0].line = std::string("T=1 \x01\x1b") + "\t\n";
  EXPECT_THAT(junit_xml(run), HasSubstr("T=1 ?? &#10;"));
}

TEST(Markdown, IsTheGoldenFile) { expect_golden(markdown_summary(sample_run()), "summary.md"); }

/// A run of many failures with long reasons.
RunRecord large_run() {
  auto run = sample_run();
  auto failure = run.cases[1];
  failure.verdict.reason = std::string(5000, 'x');
  run.cases.assign(20'000, failure);
  for (std::size_t i = 0; i < run.cases.size(); ++i) {
    run.cases[i].index = std::int64_t(i);
    run.cases[i].kernel = "kernel_" + std::to_string(i % 3000);
  }
  return run;
}

TEST(Markdown, StaysBelowItsLimitAndCountsWhatItLeavesOut) {
  const auto text = markdown_summary(large_run());
  EXPECT_LE(text.size(), kMarkdownLimit);
  EXPECT_THAT(text, testing::ContainsRegex("and 19[0-9]{3} more"));
}

TEST(HtmlReport, GivesThePageTheGoldenData) {
  const auto data = nlohmann::ordered_json::parse(page_data(sample_run()));
  expect_golden(data.dump(1) + "\n", "page_data.json");
}

TEST(HtmlReport, GivesThePageNothingThatEndsItsScript) {
  auto run = sample_run();
  run.cases[0].line = "</script><!-- <b>";
  const auto data = page_data(run);
  EXPECT_THAT(data, Not(HasSubstr("</")));
  EXPECT_THAT(data, Not(HasSubstr("<!--")));
  const auto line = nlohmann::ordered_json::parse(data)["cases"][0][4];
  EXPECT_EQ(line, "</script><!-- <b>");
}

TEST(HtmlReport, HoldsItsDataWhereThePageHasThePlaceholder) {
  if (kHtmlPage.empty()) GTEST_SKIP() << "built without npm: there is no page";
  ASSERT_NE(kHtmlPage.find(kPagePlaceholder), std::string_view::npos);
  const auto page = html_report(sample_run());
  EXPECT_THAT(page, Not(HasSubstr(std::string(kPagePlaceholder))));
  EXPECT_THAT(page, HasSubstr(page_data(sample_run())));
}

TEST(TextSink, RefusesAPathThatCannotBeWritten) {
  EXPECT_THROW(TextSink("/none/x.xml", junit_xml), Error);
  EXPECT_THROW(TextSink("/", junit_xml), Error);
}

}  // namespace
}  // namespace gdr2
