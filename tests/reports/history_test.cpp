// SPDX-License-Identifier: Apache-2.0
#include "reports/history.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "reports/json_file.hpp"
#include "reports/report_file.hpp"
#include "tests/reports/golden.hpp"

namespace gdr2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string day(int i) { return "2026-01-0" + std::to_string(i) + "T00:00:00Z"; }

RunRecord run_of(int i, double rms_z) {
  RunRecord run{
      .version = "1", .git_sha = "unknown", .argv = {"gdr2"}, .started = day(i), .complete = true};
  for (const auto name : {Name::o, Name::dk}) {
    CaseRecord record{
        .index = std::ssize(run.cases), .kernel = "k", .line = "T=70", .dtype = "bf16"};
    TensorVerdict tensor;
    tensor.stats.name = name, tensor.stats.count = 100, tensor.stats.rms_z = rms_z;
    record.verdict.tensors = {tensor};
    run.cases.push_back(record);
  }
  run.planned = std::ssize(run.cases);
  return run;
}

BenchRun bench_of(int i, double ms) {
  BenchRun bench{.run = {.version = "1",
                         .git_sha = "unknown",
                         .argv = {"gdr2"},
                         .started = day(i),
                         .complete = true}};
  bench.rows = {{.kernel = "k", .line = "T=8192", .pass = "forward", .ms = {ms, ms, ms}}};
  return bench;
}

TEST(History, ShowsErrorsAndTimesFromTheFirstToTheLastRun) {
  const History history{.runs = {run_of(1, 0.5), run_of(2, 0.75), run_of(3, 1)},
                        .benches = {bench_of(1, 0.4), bench_of(2, 0.3)}};
  expect_golden(history_text(history), "history.txt");
}

TEST(History, ReadsAFolderInTheOrderOfTimeAndNamesWhatIsNoReport) {
  const auto folder = std::filesystem::temp_directory_path() / "gdr2_history_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "below");
  write_whole(folder / "a.json", report_text(run_of(2, 1)));
  write_whole(folder / "below" / "b.json", report_text(run_of(1, 1)));
  write_whole(folder / "c.json", bench_json(bench_of(1, 1)));
  write_whole(folder / "d.json", "{}");
  const auto history = read_history(folder);
  ASSERT_THAT(history.runs, SizeIs(2));
  EXPECT_EQ(history.runs[0].started, day(1));
  EXPECT_EQ(history.runs[1].started, day(2));
  EXPECT_THAT(history.benches, SizeIs(1));
  EXPECT_THAT(history.others, ElementsAre(HasSubstr("d.json")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gdr2
