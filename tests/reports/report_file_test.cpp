// SPDX-License-Identifier: Apache-2.0
#include "reports/report_file.hpp"

#include <gmock/gmock.h>

#include "reference/error.hpp"
#include "reports/record_json.hpp"
#include "tests/reports/golden.hpp"
#include "tests/reports/sample_run.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

std::string json_text(const RunRecord& run) {
  auto json = head_to_json(run);
  for (const auto& record : run.cases) json["cases"].push_back(case_to_json(record));
  return json.dump();
}

/// A folder of its own for each test, gone at the end.
class ReportFile : public testing::Test {
 protected:
  ReportFile() : folder_(testing::TempDir() + "gdr2_report_" + test_name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ReportFile() override { std::filesystem::remove_all(folder_); }

  static std::string test_name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  std::string path(const char* name = "report.json") const { return folder_ / name; }
  std::string partial() const { return path() + ".partial"; }

  /// Begins a run and does its cases; the sink is left as if the process had died there.
  void run_without_end(const RunRecord& run) {
    JsonSink sink(path());
    sink.begin(run);
    for (const auto& record : run.cases) sink.case_finished(record);
  }
  void run_whole(const RunRecord& run) {
    JsonSink sink(path());
    sink.begin(run);
    for (const auto& record : run.cases) sink.case_finished(record);
    sink.end(run);
  }
  std::string error_of_reading(const std::string& content) {
    std::ofstream(path()) << content;
    try {
      read_report(path());
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(ReportFile, IsTheGoldenFile) {
  run_whole(sample_run());
  expect_golden(read_file(path()), "report.json");
}

TEST_F(ReportFile, ReadsBackAsWritten) {
  run_whole(sample_run());
  EXPECT_EQ(json_text(read_report(path())), json_text(sample_run()));
}

TEST_F(ReportFile, LeavesNothingElseBehind) {
  run_whole(sample_run());
  EXPECT_FALSE(std::filesystem::exists(partial()));
  EXPECT_FALSE(std::filesystem::exists(path() + ".tmp"));
}

TEST_F(ReportFile, OfARunThatDiedHoldsEveryCaseDone) {
  run_without_end(sample_run());
  EXPECT_FALSE(std::filesystem::exists(path()));
  EXPECT_EQ(json_text(read_report(partial())), json_text(sample_run()));
}

TEST_F(ReportFile, OfARunThatDiedWhileWritingDropsTheCutLine) {
  run_without_end(sample_run());
  auto text = read_file(partial());
  std::ofstream(partial(), std::ios::trunc) << text.substr(0, text.size() - 10);
  const auto run = read_report(partial());
  EXPECT_EQ(run.cases.size(), sample_run().cases.size() - 1);
  EXPECT_FALSE(run.complete);
}

TEST_F(ReportFile, OfARunThatDiedStandsInTheOrderOfThePlan) {
  auto run = sample_run();
  std::ranges::reverse(run.cases);
  run_without_end(run);
  EXPECT_EQ(json_text(read_report(partial())), json_text(sample_run()));
}

TEST_F(ReportFile, OfAResumedRunHoldsTheCasesItHasFromTheStart) {
  const auto run = sample_run();
  run_without_end(run);
  JsonSink sink(path(), run.cases);
  sink.begin(run);
  EXPECT_EQ(json_text(read_report(partial())), json_text(run));
}

TEST_F(ReportFile, OfSchema1IsRead) {
  auto json = nlohmann::ordered_json::parse(json_text(sample_run()));
  json["schema"] = 1;
  for (const auto* key : {"plan", "shard"}) json.erase(key);
  for (auto& record : json["cases"]) {
    for (const auto* key : {"index", "waiver"}) record.erase(key);
    record["verdict"].erase("difficulty");
    for (auto& tensor : record["verdict"]["tensors"])
      for (const auto* key : {"histogram", "growth_z", "growth_rel", "batches", "maps", "window"})
        tensor.erase(key);
  }
  std::ofstream(path()) << json.dump();
  const auto run = read_report(path());
  ASSERT_EQ(run.cases.size(), sample_run().cases.size());
  EXPECT_EQ(run.cases[1].verdict.tensors[1].stats.max_z, 16);
  EXPECT_EQ(run.cases[2].index, 2);
}

TEST_F(ReportFile, LeftUnfinishedIsFoundWhereverItStands) {
  EXPECT_FALSE(read_unfinished(path()));
  run_without_end(sample_run());
  EXPECT_EQ(read_unfinished(path())->cases.size(), sample_run().cases.size());
  run_whole(sample_run());
  EXPECT_EQ(read_unfinished(path())->cases.size(), sample_run().cases.size());
}

TEST_F(ReportFile, OfAnEarlierRunIsGoneOnceANewRunBegins) {
  run_whole(sample_run());
  JsonSink sink(path());
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(ReportFile, MayBeReformatted) {
  std::ofstream(path()) << json_text(sample_run());
  EXPECT_EQ(read_report(path()).cases.size(), sample_run().cases.size());
}

TEST_F(ReportFile, RefusesAPathThatCannotBeWritten) {
  const auto message = [](const std::string& where) -> std::string {
    try {
      JsonSink sink(where);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(path("missing/report.json")),
            path("missing/report.json") + ": cannot write: No such file or directory");
  EXPECT_EQ(message(path("")), path("") + ": is a directory");
}

TEST_F(ReportFile, ReadingNamesTheFileThatCannotBeRead) {
  EXPECT_THROW(
      try { read_report(path("none.json")); } catch (const Error& e) {
        EXPECT_EQ(e.what(), path("none.json") + ": cannot read: No such file or directory");
        throw;
      },
      Error);
  EXPECT_EQ(error_of_reading(""), path() + ": cannot read: empty");
}

TEST_F(ReportFile, ReadingNamesTheByteWhereJsonBreaks) {
  EXPECT_THAT(error_of_reading("{\"schema\": 1,"), HasSubstr(path() + ": not JSON: at byte 14"));
}

/// One edit of the sample report and what the reader says of it.
struct Edit {
  const char* pointer;
  const char* value;  ///< JSON; nullptr: the member is taken away
  const char* message;
};

TEST_F(ReportFile, ReadingNamesTheFieldThatIsWrong) {
  const Edit edits[] = {
      {"/schema", "3", "schema: 3 is not one of the schemas that this binary reads, 1 to 2"},
      {"/schema", nullptr, "schema: missing"},
      {"/version", "7", "version: not a string"},
      {"/git_dirty", "\"no\"", "git_dirty: not true or false"},
      {"/argv", "\"gdr2\"", "argv: not an array"},
      {"/argv/1", "null", "argv[1]: not a string"},
      {"/environment", "[]", "environment: not an object"},
      {"/environment/cpu", "1", "environment.cpu: not a string"},
      {"/seeds/0", "-1", "seeds[0]: not a natural number"},
      {"/planned", "1.5", "planned: not an integer"},
      {"/planned", "18446744073709551615", "planned: too large"},
      {"/seconds", "\"long\"", "seconds: not a number"},
      {"/cases", nullptr, "cases: missing"},
      {"/cases/0", "0", "cases[0]: not an object"},
      {"/cases/1/verdict/state", "\"GOOD\"", "cases[1].verdict.state: 'GOOD' is not a state"},
      {"/cases/1/verdict/tensors/0/name", "\"x\"",
       "cases[1].verdict.tensors[0].name: 'x' is not a tensor"},
      {"/cases/1/verdict/tensors/0/dtype", "\"tf32\"",
       "cases[1].verdict.tensors[0].dtype: 'tf32' is not a dtype"},
      {"/cases/1/verdict/tensors/1/max_z", "\"NaN\"",
       "cases[1].verdict.tensors[1].max_z: not a number"},
      {"/cases/1/verdict/tensors/1/worst/0/where", nullptr,
       "cases[1].verdict.tensors[1].worst[0].where: missing"},
  };
  for (const auto& edit : edits) {
    auto json = nlohmann::ordered_json::parse(json_text(sample_run()));
    const nlohmann::ordered_json::json_pointer pointer(edit.pointer);
    if (edit.value)
      json[pointer] = nlohmann::ordered_json::parse(edit.value);
    else
      json[pointer.parent_pointer()].erase(pointer.back());
    const auto dot = std::string(edit.message).starts_with('[') ? "" : ".";
    EXPECT_EQ(error_of_reading(json.dump()), path() + dot + edit.message);
  }
}

}  // namespace
}  // namespace gdr2
