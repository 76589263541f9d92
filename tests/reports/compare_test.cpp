// SPDX-License-Identifier: Apache-2.0
// What a comparison must see, and what it must not: a regression of 5 % in one tensor of one recipe, and
// two clean runs of other seeds, whose errors are drawn here with the dependence that real ones have.
#include "reports/compare.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/reports/golden.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// A number of [0, 1) from its name: the same on every machine.
double draw(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu +
                    d * 0xd6e8feb86659fd93u;
  for (int i = 0; i < 3; ++i) x ^= x >> 31, x *= 0xff51afd7ed558ccdu;
  return double(x >> 11) * 0x1p-53;
}

const char* const kRecipes[] = {"plain", "slow",   "fast",   "spike",  "layer",
                                "mixed", "forget", "onehot", "wide_b", "logtime"};
constexpr Name kTensors[] = {Name::o, Name::dq, Name::dk, Name::dg};

/// Batches of one tensor. A factor of 30 % is common to all batches of a case: errors of one tensor
/// depend on each other.
std::vector<double> batches(std::uint64_t seed, std::uint64_t recipe, std::uint64_t tensor) {
  const double common = std::exp(0.6 * (draw(seed, recipe, tensor, 99) - 0.5));
  std::vector<double> values;
  for (std::uint64_t i = 0; i < 16; ++i)
    values.push_back(0.5 * common * (0.7 + 0.6 * draw(seed, recipe, tensor, i)));
  return values;
}

RunRecord run_of(std::uint64_t seed) {
  RunRecord run{
      .version = "1", .git_sha = "unknown", .argv = {"gdr2"}, .seeds = {seed}, .complete = true};
  for (std::uint64_t r = 0; r < std::size(kRecipes); ++r) {
    CaseRecord record{
        .index = std::int64_t(r),
        .kernel = "k",
        .line = std::string("T=70 recipe=") + kRecipes[r] + " seed=" + std::to_string(seed),
        .dtype = "bf16",
        .repro = "gdr2 repro ..."};
    for (auto name : kTensors) {
      TensorVerdict tensor;
      tensor.stats.name = name, tensor.stats.count = 2240;
      tensor.stats.profile.batches = batches(seed, r, std::uint64_t(name));
      record.verdict.tensors.push_back(tensor);
    }
    run.cases.push_back(record);
  }
  run.planned = std::ssize(run.cases);
  return run;
}

void scale_error(RunRecord& run, const std::string& recipe, Name name, double factor) {
  for (auto& record : run.cases)
    if (record.line.find("recipe=" + recipe) != std::string::npos)
      for (auto& tensor : record.verdict.tensors)
        if (tensor.stats.name == name)
          for (auto& batch : tensor.stats.profile.batches) batch *= factor * factor;
}

TEST(Compare, OfARunWithItselfFindsNothing) {
  const auto comparison = compare(run_of(1), run_of(1));
  EXPECT_EQ(comparison.exit_code(), 0);
  EXPECT_EQ(comparison.paired, 10);
  for (const auto& change : comparison.errors) EXPECT_EQ(change.ratio(), 1);
}

TEST(Compare, CatchesFivePercentInOneTensorOfOneRecipe) {
  for (const auto* recipe : kRecipes)
    for (auto name : kTensors) {
      auto worse = run_of(1);
      scale_error(worse, recipe, name, 1.05);
      const auto comparison = compare(run_of(1), worse);
      EXPECT_EQ(comparison.exit_code(), 1) << recipe;
      const auto& change = comparison.errors.front();
      EXPECT_TRUE(change.is_regression());
      EXPECT_EQ(change.recipe, recipe);
      EXPECT_EQ(change.tensor, to_string(name));
      EXPECT_NEAR(change.ratio(), 1.05, 1e-6);
    }
}

TEST(Compare, DoesNotFireOnCleanRunsOfOtherSeeds) {
  int fired = 0;
  for (std::uint64_t i = 1; i <= 100; ++i)
    fired += compare(run_of(2 * i), run_of(2 * i + 1)).exit_code() != 0;
  EXPECT_EQ(fired, 0) << "of 100";
}

/// The run with its cases in other dtypes too, with errors of their own.
RunRecord run_of_four_dtypes() {
  auto run = run_of(1);
  const auto dtypes = {"fp16", "tf32", "fp32"};
  for (std::uint64_t seed = 2; const auto* dtype : dtypes) {
    for (auto record : run_of(seed).cases) {
      record.dtype = dtype,
      record.line = record.line.substr(0, record.line.find(" seed")) + " seed=1 dtype=" + dtype;
      run.cases.push_back(record);
    }
    ++seed;
  }
  run.planned = std::ssize(run.cases);
  return run;
}

TEST(Compare, CatchesFivePercentOfOneRecipeInEveryDtype) {
  auto worse = run_of_four_dtypes();
  scale_error(worse, "slow", Name::dk, 1.05);
  const auto comparison = compare(run_of_four_dtypes(), worse);
  EXPECT_EQ(comparison.exit_code(), 1);
  int named = 0;
  for (const auto& change : comparison.errors) {
    if (!change.is_regression()) continue;
    ++named;
    EXPECT_EQ(change.recipe + " " + change.tensor, "slow dk");
  }
  EXPECT_EQ(named, 5) << "four dtypes, and all of them together";
}

TEST(Compare, CatchesFivePercentOfOneTensorEverywhere) {
  auto worse = run_of_four_dtypes();
  for (const auto* recipe : kRecipes) scale_error(worse, recipe, Name::dg, 1.05);
  const auto comparison = compare(run_of_four_dtypes(), worse);
  EXPECT_EQ(comparison.exit_code(), 1);
  for (const auto& change : comparison.errors)
    EXPECT_EQ(change.is_regression(), change.tensor == "dg");
}

TEST(Compare, CallsAnImprovementNone) {
  auto better = run_of(1);
  scale_error(better, "slow", Name::dk, 0.8);
  EXPECT_EQ(compare(run_of(1), better).exit_code(), 0);
  EXPECT_THAT(comparison_text(compare(run_of(1), better), false), HasSubstr("better"));
}

TEST(Compare, NamesCasesThatBrokeWereFixedOrWentMissing) {
  auto before = run_of(1), after = run_of(1);
  before.cases[2].verdict.state = State::kFailed;
  after.cases[1].verdict.state = State::kCrashed;
  after.cases.pop_back(), --after.planned;
  const auto comparison = compare(before, after);
  ASSERT_THAT(comparison.broken, SizeIs(1));
  EXPECT_THAT(comparison.broken[0].line, HasSubstr("recipe=slow"));
  ASSERT_THAT(comparison.fixed, SizeIs(1));
  EXPECT_THAT(comparison.missing, testing::ElementsAre(HasSubstr("recipe=logtime")));
  EXPECT_EQ(comparison.exit_code(), 1);
  for (const auto* part :
       {"Broken: 1", "Fixed: 1", "Missing: ran in the old report alone: 1", "PASSED -> CRASHED"})
    EXPECT_THAT(comparison_text(comparison, true), HasSubstr(part));
}

TEST(Compare, ReadsAsTheGoldenFile) {
  auto before = run_of(1), after = run_of(1);
  before.cases[2].verdict.state = State::kFailed;
  after.cases[1].verdict.state = State::kCrashed,
  after.cases[1].verdict.reason = "o: the kernel threw";
  after.cases.pop_back(), --after.planned;
  scale_error(after, "spike", Name::dk, 1.05);
  scale_error(after, "mixed", Name::o, 0.8);
  expect_golden(comparison_text(compare(before, after), false), "compare.txt");
}

TEST(Compare, TakesASkippedCaseForAMissingOne) {
  auto after = run_of(1);
  after.cases[0].verdict.state = State::kSkipped;
  EXPECT_EQ(compare(run_of(1), after).exit_code(), 1);
}

TEST(Compare, GatesANewCaseThatFails) {
  auto before = run_of(1), after = run_of(1);
  before.cases.pop_back(), --before.planned;
  EXPECT_EQ(compare(before, after).exit_code(), 0);
  after.cases.back().verdict.state = State::kFailed;
  EXPECT_EQ(compare(before, after).exit_code(), 1);
  after.cases.back().waiver = "known";
  EXPECT_EQ(compare(before, after).exit_code(), 0);
}

TEST(Compare, NeverPassesAnEmptyOrInterruptedReport) {
  const RunRecord empty{.complete = true};
  EXPECT_EQ(compare(empty, run_of(1)).exit_code(), 3);
  EXPECT_EQ(compare(run_of(1), empty).exit_code(), 3);
  auto interrupted = run_of(1);
  interrupted.complete = false;
  EXPECT_EQ(compare(run_of(1), interrupted).exit_code(), 1);
  EXPECT_EQ(compare(interrupted, run_of(1)).exit_code(), 1);
  auto shard = run_of(1);
  shard.shard.count = 2;
  EXPECT_EQ(compare(run_of(1), shard).exit_code(), 1);
}

TEST(Compare, PairsAKernelThatWasRenamed) {
  auto after = run_of(1);
  for (auto& record : after.cases) record.kernel = "k_v2";
  EXPECT_EQ(compare(run_of(1), after).paired, 10);
}

}  // namespace
}  // namespace gdr2
