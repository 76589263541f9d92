// SPDX-License-Identifier: Apache-2.0
// The regression corpus (fixtures/regressions): every case fails on the fault that it was made for and
// passes on the right kernel; every kind of fault has one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
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

TEST(Regressions, EveryKindOfFaultHasOne) {
  std::set<std::string> covered, kinds;
  for (const auto& fault : power::faults()) kinds.insert(fault.kind);
  for (const auto& file : files())
    covered.insert(power::find_fault(read_activations(file).info.at("fault")).kind);
  EXPECT_EQ(covered, kinds);
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
