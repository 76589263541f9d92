// SPDX-License-Identifier: Apache-2.0
// A run that is stopped leaves a report of what it did.
#include <gmock/gmock.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "reports/report_file.hpp"
#include "tests/cli/process.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

constexpr int kSeeds = 100000;  ///< far more than get done

/// A long run, stopped once its partial report holds a case.
class LongRun {
 public:
  LongRun()
      : process_({"verify", "T=5 K=4 V=3 kernel=cpu.chunk", "--seeds", std::to_string(kSeeds),
                  "--json", report()}) {}

  Outcome stop(int signal) {
    for (int i = 0; i < 3000 && lines_of_partial() < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    process_.send(signal);
    return process_.wait();
  }
  std::string report() const { return folder_.path("report.json"); }
  std::string partial() const { return report() + ".partial"; }

 private:
  std::ptrdiff_t lines_of_partial() const { return std::ranges::count(read_file(partial()), '\n'); }

  TemporaryFolder folder_;
  Process process_;
};

class StoppedRun : public testing::TestWithParam<int> {};

TEST_P(StoppedRun, FinishesItsReportAndDiesOfTheSignal) {
  LongRun run;
  const auto outcome = run.stop(GetParam());
  EXPECT_EQ(outcome.status, -GetParam());
  EXPECT_THAT(outcome.out, HasSubstr("Interrupted: "));
  const auto report = read_report(run.report());
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.planned, kSeeds);
  EXPECT_GE(report.cases.size(), 1u);
  EXPECT_LT(std::ssize(report.cases), kSeeds);
  EXPECT_FALSE(std::filesystem::exists(run.partial()));
}

INSTANTIATE_TEST_SUITE_P(BySignal, StoppedRun, testing::Values(SIGINT, SIGTERM));

TEST(KilledRun, LeavesAReadablePartialReport) {
  LongRun run;
  EXPECT_EQ(run.stop(SIGKILL).status, -SIGKILL);
  EXPECT_FALSE(std::filesystem::exists(run.report()));
  const auto report = read_report(run.partial());
  EXPECT_FALSE(report.complete);
  EXPECT_GE(report.cases.size(), 1u);
}

}  // namespace
}  // namespace gdr2
