// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "fixtures/activation_file.hpp"
#include "fixtures/case.hpp"
#include "fixtures/recipes.hpp"
#include "kernels/kernel.hpp"
#include "properties/laws/law.hpp"
#include "reports/report_file.hpp"
#include "tests/cli/process.hpp"

namespace gdr2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kSmall = "T=5 K=4 V=3";

/// What `verify` ran, as "kernel line" each, read from its report.
std::vector<std::string> cases_of(std::vector<std::string> words) {
  const TemporaryFolder folder;
  words.insert(words.begin(), "verify");
  words.insert(words.end(), {"--json", folder.path("report.json")});
  const auto outcome = gdr2_with(words);
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  std::vector<std::string> cases;
  for (const auto& record : read_report(folder.path("report.json")).cases)
    cases.push_back(record.kernel + " " + record.line);
  return cases;
}

std::string on_chunk(const std::string& rest) { return "cpu.chunk T=5 K=4 V=3" + rest; }

TEST(Verify, PassesAGoodKernelOnASmallCase) {
  const auto outcome = gdr2_with({"verify", kSmall, "--kernel", "cpu.chunk"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("PASSED      cpu.chunk"));
  EXPECT_THAT(outcome.out, HasSubstr(": 1 PASSED"));
}

TEST(Verify, RunsEveryKernelThatSupportsTheCase) {
  Problem problem = parse_problem(kSmall);
  std::vector<std::string> expected;
  for (const auto& kernel : kernels())
    if (!kernel->unsupported(problem)) expected.push_back(kernel->name() + " " + kSmall);
  EXPECT_EQ(cases_of({kSmall}), expected);
}

TEST(Verify, RunsTheKernelsThatAreNamed) {
  EXPECT_THAT(cases_of({kSmall, "--kernel", "cpu.recurrent", "--kernel", "cpu.chunk"}),
              ElementsAre(std::string("cpu.recurrent ") + kSmall, on_chunk("")));
}

TEST(Verify, LetsALineNameItsKernel) {
  EXPECT_THAT(cases_of({std::string("kernel=cpu.chunk ") + kSmall, "--kernel", "cpu.recurrent"}),
              ElementsAre(on_chunk("")));
}

TEST(Verify, ReplacesTheRecipeOfDrawnCases) {
  EXPECT_THAT(cases_of({std::string("kernel=cpu.chunk recipe=fast ") + kSmall, "--recipe", "slow",
                        "--recipe", "plain"}),
              ElementsAre(on_chunk(" recipe=slow"), on_chunk("")));
}

TEST(Verify, CountsSeedsUp) {
  const auto line = std::string("kernel=cpu.chunk ") + kSmall;
  EXPECT_THAT(cases_of({line, "--seeds", "2"}), ElementsAre(on_chunk(""), on_chunk(" seed=2")));
  EXPECT_THAT(cases_of({line + " seed=7", "--seeds", "2"}),
              ElementsAre(on_chunk(" seed=7"), on_chunk(" seed=8")));
  EXPECT_THAT(cases_of({line + " seed=7", "--seed", "40"}), ElementsAre(on_chunk(" seed=40")));
  EXPECT_THAT(cases_of({line, "--seed", "18446744073709551615"}),
              ElementsAre(on_chunk(" seed=18446744073709551615")));
}

TEST(Verify, RunsACaseOnceHoweverOftenItIsAskedFor) {
  const auto line = std::string("kernel=cpu.chunk ") + kSmall;
  EXPECT_EQ(cases_of({line, line, line + " recipe=slow", "--recipe", "plain"}).size(), 1u);
}

TEST(Verify, TakesASetFromAFileBesideLines) {
  const TemporaryFolder folder;
  const auto set = write_file(folder.path("set.txt"), "T=1 K=2 V=2  # short\n");
  EXPECT_THAT(cases_of({kSmall, "--set", set, "--kernel", "cpu.chunk"}),
              ElementsAre(on_chunk(""), "cpu.chunk T=1 K=2 V=2"));
}

TEST(Verify, GivesFileCasesTheirOwnValues) {
  const TemporaryFolder folder;
  const auto c = parse_case(kSmall);
  const auto path = folder.path("inputs.safetensors");
  write_activations(path, {.problem = c.problem, .inputs = make_inputs(c)});
  const auto cases =
      cases_of({"kernel=cpu.chunk dtype=tf32 file=" + path, "--recipe", "slow", "--seeds", "3"});
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_THAT(cases[0], StartsWith("cpu.chunk file=" + path));
  EXPECT_THAT(cases[0], HasSubstr("dtype=tf32"));
}

TEST(Verify, GivesTheSameReportOnAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const auto verdicts = [&](const std::string& threads) {
    const auto path = folder.path(threads + ".json");
    gdr2_with({"verify", kSmall, "--seeds", "6", "--threads", threads, "--json", path});
    std::string text;
    for (const auto& c : read_report(path).cases) {
      text += c.repro + "\n";
      for (const auto& t : c.verdict.tensors)
        text +=
            fmt::format("{} {:a} {:a}\n", to_string(t.stats.name), t.stats.max_z, t.stats.rel_norm);
    }
    return text;
  };
  const auto alone = verdicts("1");
  EXPECT_THAT(alone, HasSubstr("seed=6"));
  EXPECT_EQ(verdicts("4"), alone);
}

TEST(Verify, WritesNoTerminalCodesIntoAPipe) {
  EXPECT_THAT(gdr2_with({"verify", kSmall}).out, Not(HasSubstr("\x1b")));
}

TEST(Verify, SaysACaseBeforeItRunsWhenVerbose) {
  const auto out = gdr2_with({"verify", kSmall, "--kernel", "cpu.chunk", "-v"}).out;
  const auto started = out.find("started     gdr2 repro 'kernel=cpu.chunk T=5 K=4 V=3'");
  ASSERT_NE(started, std::string::npos) << out;
  EXPECT_LT(started, out.find("PASSED"));
}

TEST(Verify, ReportsWhatWasAskedAndWhereItRan) {
  const TemporaryFolder folder;
  const auto path = folder.path("report.json");
  gdr2_with({"verify", kSmall, "--seed", "3", "--seeds", "2", "--json", path});
  const auto run = read_report(path);
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.planned, std::ssize(run.cases));
  EXPECT_THAT(run.seeds, ElementsAre(3, 4));
  EXPECT_THAT(run.argv,
              ElementsAre("gdr2", "verify", kSmall, "--seed", "3", "--seeds", "2", "--json", path));
  EXPECT_TRUE(run.environment.contains("compiler"));
  for (const auto& record : run.cases) {
    EXPECT_EQ(record.dtype, "bf16");
    EXPECT_THAT(record.contract, HasSubstr("operand="));
    EXPECT_FALSE(record.verdict.tensors.empty());
    EXPECT_GT(record.seconds, 0);
  }
}

TEST(Repro, RunsTheLineOfAReport) {
  const auto line = std::string("kernel=cpu.chunk ") + kSmall + " recipe=slow seed=3";
  const auto outcome = gdr2_with({"repro", line});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("T=5 K=4 V=3 recipe=slow seed=3"));
  for (const auto* tensor : {"o", "ht", "dq", "dk", "dv", "dg", "db", "dw"})
    EXPECT_THAT(outcome.out, HasSubstr(fmt::format("\n    {:<7}  PASSED", tensor)));
}

TEST(Verify, ALineMayFollowAnOption) {
  const auto outcome =
      gdr2_with({"verify", "--kernel", "cpu.chunk", "--recipe", "slow", "T=8 K=8 V=4"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("T=8 K=8 V=4 recipe=slow"));
}

TEST(Laws, ChecksTheLawAskedForOnTheKernelAskedFor) {
  const auto outcome =
      gdr2_with({"laws", "T=20 K=8 V=4", "--law", "causality", "--kernel", "cpu.chunk"});
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("1 cases"));
  EXPECT_THAT(outcome.out, HasSubstr("1 PASSED"));
}

TEST(Laws, ALawThatSaysNothingOfTheCaseRanNothing) {
  EXPECT_EQ(gdr2_with({"laws", "T=20 K=8 V=4", "--law", "empty_sequences"}).status, 3);
}

TEST(Laws, ResidentAreThoseThatHoldToTheBitUnlessOthersAreAskedFor) {
  const auto bits = std::ranges::count(all_laws(), Law::Kind::kBits, &Law::kind);
  const std::vector<std::string> words{"laws", "--resident", "T=20 K=8 V=4", "--kernel",
                                       "cpu.chunk"};
  const auto all = gdr2_with(words);
  EXPECT_EQ(all.status, 0) << all.out << all.err;
  EXPECT_THAT(all.out, HasSubstr(fmt::format("\n{} cases", bits)));
  auto one = words;
  one.insert(one.end(), {"--law", "query_balance"});
  EXPECT_THAT(gdr2_with(one).out, HasSubstr("\n1 cases"));
}

TEST(List, NamesOnlyKeysThatALineMayHold) {
  std::istringstream problems(gdr2_with({"list", "problems"}).out);
  std::string row;
  std::getline(problems, row);  // the heading
  while (std::getline(problems, row)) {
    std::istringstream keys(row.substr(0, row.find("  ", 2)));
    for (std::string key; keys >> key;) {
      key = key.substr(0, key.find('='));
      const auto outcome = gdr2_with({"verify", key + "=?"});
      EXPECT_EQ(outcome.status, 2) << key;
      EXPECT_THAT(outcome.err, Not(HasSubstr("unknown key"))) << key;
    }
  }
}

TEST(List, NamesKernelsSetsAndRecipes) {
  const auto outcome = gdr2_with({"list"});
  EXPECT_EQ(outcome.status, 0);
  for (const auto& kernel : kernels()) EXPECT_THAT(outcome.out, HasSubstr(kernel->name()));
  for (const auto& recipe : recipes()) EXPECT_THAT(outcome.out, HasSubstr(recipe.name));
  for (const auto* set : {"smoke", "ci"}) EXPECT_THAT(outcome.out, HasSubstr(set));
}

TEST(List, NamesOneKindWhenAsked) {
  const auto outcome = gdr2_with({"list", "kernels"});
  EXPECT_THAT(outcome.out, HasSubstr("cpu.chunk"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("recipes")));
}

}  // namespace
}  // namespace gdr2
