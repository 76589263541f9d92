// SPDX-License-Identifier: Apache-2.0
// The regression corpus (fixtures/regressions): every case fails on the fault that it was made for and
// passes on the right kernel; every kind of fault has one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "fixtures/activation_file.hpp"
#include "fixtures/case_set.hpp"
#include "properties/power/mutant.hpp"
#include "properties/search/search.hpp"

namespace gdr2 {
namespace {

std::filesystem::path folder() { return fixtures_folder() / "regressions"; }

std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder()))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string name_of(const testing::TestParamInfo<std::filesystem::path>& info) {
  return info.param.stem().string();
}

class Regression : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Regression, FailsOnItsFaultAndPassesOnTheRightKernel) {
  const auto info = read_activations(GetParam()).info;
  const auto& fault = power::find_fault(info.at("fault"));
  const auto law = info.contains("law") ? info.at("law") : std::string();
  const auto c = parse_case(info.at("line") + " file=" + GetParam().string());
  const auto wrong = search::examine(*power::make_mutant(fault), c, law);
  EXPECT_EQ(wrong.state, State::kFailed) << fault.name << " " << law;
  const auto right = search::examine(power::right_kernel(fault.form), c, law);
  EXPECT_EQ(right.state, State::kPassed) << right.reason;
}

INSTANTIATE_TEST_SUITE_P(Corpus, Regression, testing::ValuesIn(files()), name_of);

struct PublicReport {
  std::string report, line, fault;
};

std::vector<PublicReport> public_reports() {
  std::ifstream file(folder() / "public_reports.json");
  std::vector<PublicReport> reports;
  for (const auto& r : nlohmann::json::parse(file)) reports.push_back({r["report"], r["line"], r["fault"]});
  return reports;
}

std::string name_of_report(const testing::TestParamInfo<PublicReport>& info) {
  auto name = info.param.report;
  std::ranges::replace_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

class Report : public testing::TestWithParam<PublicReport> {};

TEST_P(Report, FailsOnAFaultOfItsKindAndPassesOnTheRightKernel) {
  const auto& fault = power::find_fault(GetParam().fault);
  const auto c = parse_case(GetParam().line);
  EXPECT_EQ(search::examine(*power::make_mutant(fault), c, "").state, State::kFailed) << fault.name;
  const auto right = search::examine(power::right_kernel(fault.form), c, "");
  EXPECT_EQ(right.state, State::kPassed) << right.reason;
}

INSTANTIATE_TEST_SUITE_P(Public, Report, testing::ValuesIn(public_reports()), name_of_report);

TEST(Regressions, TheSetHoldsEveryPublicReport) {
  std::vector<std::string> in_set;
  for (const auto& c : load_set("regressions")) in_set.push_back(to_string(c));
  for (const auto& r : public_reports())
    EXPECT_THAT(in_set, testing::Contains(to_string(parse_case(r.line)))) << r.report;
}

TEST(Regressions, EveryKindOfFaultHasOne) {
  std::set<std::string> covered, kinds;
  for (const auto& fault : power::faults()) kinds.insert(fault.kind);
  for (const auto& file : files())
    covered.insert(power::find_fault(read_activations(file).info.at("fault")).kind);
  EXPECT_EQ(covered, kinds);
}

std::string readme() {
  std::ifstream file(folder() / "README.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Regressions, TheTableOfTheReadmeNamesTheFaultsThatHaveOne) {
  std::set<std::string> covered;
  for (const auto& file : files()) covered.insert(read_activations(file).info.at("fault"));
  const auto text = readme();
  const auto table = text.substr(0, text.find("## Public reports"));
  for (const auto& fault : power::faults()) {
    const bool is_named = table.find("`" + fault.name + "`") != std::string::npos;
    EXPECT_EQ(covered.contains(fault.name), is_named) << fault.name;
  }
}

TEST(Regressions, TheSetHoldsEveryFile) {
  std::set<std::string> in_set, in_folder;
  for (const auto& c : load_set("regressions"))
    if (!c.file.empty()) in_set.insert(c.file.filename());
  for (const auto& file : files()) in_folder.insert(file.filename());
  EXPECT_EQ(in_set, in_folder);
}

}  // namespace
}  // namespace gdr2
