// SPDX-License-Identifier: Apache-2.0
#include "cli/job.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <stdexcept>

#include "cli/run.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;
using testing::internal::CaptureStdout;
using testing::internal::GetCapturedStdout;

Job job(const std::string& line, std::function<Verdict()> judge) {
  return {.record = {.kernel = "k",
                     .line = line,
                     .dtype = "bf16",
                     .repro = "gdr2 repro '" + line + "'"},
          .judge = std::move(judge)};
}

Verdict passed() { return {}; }
Verdict skipped() { return {.state = State::kSkipped, .reason = "not today"}; }

std::vector<CaseRecord> records_of(const std::vector<Job>& jobs, int threads) {
  std::vector<CaseRecord> records;
  Crew crew(jobs, threads, [](const CaseRecord&) {});
  while (auto record = crew.next()) records.push_back(std::move(*record));
  return records;
}

TEST(Crew, HandsOutRecordsInTheOrderOfTheJobs) {
  std::vector<Job> jobs;
  for (int i = 0; i < 20; ++i)
    jobs.push_back(job(std::to_string(i), [i] {
      std::this_thread::sleep_for(std::chrono::milliseconds((20 - i) / 2));
      return passed();
    }));
  const auto records = records_of(jobs, 4);
  ASSERT_EQ(records.size(), jobs.size());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(records[i].line, std::to_string(i));
}

TEST(Crew, CallsAJobThatThrowsCrashedAndGoesOn) {
  const std::vector jobs{
      job("a", []() -> Verdict { throw std::runtime_error("out of luck"); }),
      job("b", []() -> Verdict { throw 7; }),
      job("c", passed),
  };
  const auto records = records_of(jobs, 2);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].verdict.state, State::kCrashed);
  EXPECT_EQ(records[0].verdict.reason, "out of luck");
  EXPECT_EQ(records[1].verdict.state, State::kCrashed);
  EXPECT_EQ(records[2].verdict.state, State::kPassed);
}

TEST(Crew, StartsNoFurtherJobOnceItIsGone) {
  std::atomic<int> ran{0};
  const std::vector<Job> jobs(1000, job("a", [&] {
                                ++ran;
                                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                return passed();
                              }));
  {
    Crew crew(jobs, 2, [](const CaseRecord&) {});
    crew.next();
  }
  EXPECT_LT(ran, 1000);
}

TEST(Crew, AnnouncesAJobBeforeItRuns) {
  std::atomic<bool> announced{false}, was_announced{false};
  const std::vector jobs{job("a", [&] {
    was_announced = announced.load();
    return passed();
  })};
  Crew crew(jobs, 1, [&](const CaseRecord&) { announced = true; });
  crew.next();
  EXPECT_TRUE(was_announced);
}

int exit_code_of(const std::vector<Job>& jobs, bool strict) {
  RunOptions options;
  options.strict = strict;
  options.threads = 2;
  CaptureStdout();
  const int code = run_jobs(jobs, {}, options, {"gdr2"});
  GetCapturedStdout();
  return code;
}

TEST(RunJobs, GivesTheExitCodesOfTheStates) {
  const auto failed = [] { return Verdict{.state = State::kFailed}; };
  EXPECT_EQ(exit_code_of({job("a", passed), job("b", skipped)}, false), 0);
  EXPECT_EQ(exit_code_of({job("a", passed), job("b", skipped)}, true), 1);
  EXPECT_EQ(exit_code_of({job("a", passed), job("b", failed)}, false), 1);
  EXPECT_EQ(exit_code_of({job("a", skipped)}, false), 3);
  EXPECT_EQ(exit_code_of({}, false), 3);
}

TEST(RunJobs, SaysWhyACaseWasSkipped) {
  RunOptions options;
  options.threads = 1;
  CaptureStdout();
  run_jobs({job("a", skipped)}, {}, options, {"gdr2"});
  EXPECT_THAT(GetCapturedStdout(), HasSubstr("not today"));
}

}  // namespace
}  // namespace gdr2
