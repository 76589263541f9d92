// SPDX-License-Identifier: Apache-2.0
#include "reports/console_sink.hpp"

#include <gmock/gmock.h>

#include "tests/reports/golden.hpp"
#include "tests/reports/sample_run.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string console_report(ConsoleOptions options) {
  std::ostringstream out;
  ConsoleSink sink(out, options);
  auto run = sample_run();
  auto head = run;
  head.cases.clear();
  sink.begin(head);
  for (const auto& record : run.cases) {
    sink.case_started(record.repro);
    sink.case_done(record);
  }
  sink.end(run);
  return out.str();
}

TEST(ConsoleSink, PrintsTheGoldenReport) { expect_golden(console_report({}), "console.txt"); }

TEST(ConsoleSink, ShowsEveryTensorWhenVerbose) {
  expect_golden(console_report({.verbose = true}), "console_verbose.txt");
}

TEST(ConsoleSink, NamesACaseBeforeItRunsWhenVerbose) {
  std::ostringstream out;
  ConsoleSink sink(out, {.verbose = true});
  sink.case_started("gdr2 repro 'kernel=k T=1'");
  EXPECT_EQ(out.str(), "started     gdr2 repro 'kernel=k T=1'\n");
}

TEST(ConsoleSink, WritesNoEscapesWhenNotOnATerminal) {
  EXPECT_THAT(console_report({}), Not(HasSubstr("\x1b")));
}

TEST(ConsoleSink, ColoursTheStateAlone) {
  EXPECT_THAT(console_report({.color = Color::kAnsi}), HasSubstr("\x1b[32mPASSED    \x1b[0m"));
  EXPECT_THAT(console_report({.color = Color::kAnsi}), HasSubstr("\x1b[31mFAILED    \x1b[0m"));
}

TEST(ConsoleSink, ErasesTheProgressLineBeforeARow) {
  double now = 0;
  const auto text = console_report({.progress = true, .clock = [&] { return now += 10; }});
  EXPECT_THAT(text, HasSubstr("[---"));
  EXPECT_THAT(text, HasSubstr("1/8  2:20 left\r\x1b[K"));
}

TEST(ProgressLine, HasNoTimeBeforeTheFirstCase) {
  EXPECT_EQ(progress_line(0, 8, 3), "[------------------------]  0/8");
}

TEST(ProgressLine, ExtrapolatesTheTimeLeft) {
  EXPECT_EQ(progress_line(2, 8, 40), "[######------------------]  2/8  2:00 left");
}

TEST(ProgressLine, IsFullAtTheEnd) {
  EXPECT_EQ(progress_line(8, 8, 40), "[########################]  8/8  0:00 left");
}

TEST(Summary, SaysSoWhenNothingRan) {
  EXPECT_THAT(summary({.complete = true}, Color::kNever),
              HasSubstr("0 cases in 0.0 s: nothing ran"));
}

}  // namespace
}  // namespace gdr2
