// SPDX-License-Identifier: Apache-2.0
// Calibration and power reports: JSON and back, and parts added up.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "reports/calibration.hpp"
#include "reports/environment.hpp"
#include "reports/power.hpp"
#include "reports/study_file.hpp"
#include "tests/reports/golden.hpp"

namespace gdr2 {
namespace {

using ::testing::HasSubstr;

Calibration calibration(const std::string& recipe, double max_z) {
  Calibration c;
  c.progress["cpu.chunk bf16"] = {0, 3, 1.5, {{"PASSED", 3}}};
  c.allowed["cpu.chunk bf16"] = 9;
  c.rows[{"cpu.chunk", "bf16", "operand=bf16", 0, "recipe", recipe}] = {100, 0,     -2,
                                                                        25,  max_z, "T=5"};
  return c;
}

TEST(Calibration, ComesBackFromJson) {
  const auto json = calibration_to_json(calibration("slow", 3));
  EXPECT_EQ(calibration_to_json(calibration_from_json({json, "c"})), json);
}

TEST(Calibration, PartsAddUp) {
  auto sum = calibration("slow", 3);
  sum.add(calibration("slow", 4));
  const auto& row = sum.rows.begin()->second;
  EXPECT_EQ(row.elements, 200);
  EXPECT_EQ(row.max_z, 4);
  EXPECT_DOUBLE_EQ(row.rms(), 0.5);
  EXPECT_DOUBLE_EQ(row.bias(), -0.02);
  EXPECT_EQ(sum.progress.at("cpu.chunk bf16").verdicts.at("PASSED"), 6);
}

TEST(Calibration, TheTableHoldsTheMarginAndTheAlarms) {
  auto c = calibration("slow", 4.5);
  c.alarms["kernel=cpu.chunk T=9"] = "o: too far";
  const auto text = calibration_text(c);
  EXPECT_THAT(text, HasSubstr("4.50"));
  EXPECT_THAT(text, HasSubstr("2.00"));  // 9 / 4.5
  EXPECT_THAT(text, HasSubstr("kernel=cpu.chunk T=9"));
}

TEST(Calibration, ReadsAsTheGoldenFile) {
  auto c = calibration("slow", 4.5);
  c.add(calibration("spike", 5.25));
  c.alarms["kernel=cpu.chunk T=9"] = "o: too far";
  expect_golden(calibration_text(c), "calibration.txt");
}

PowerStudy power_study() {
  PowerStudy study;
  study.rules = {{"lenient", "accepts all but NaN"}};
  study.mutants = {
      {.name = "a", .kind = "precision", .what = "", .state = "caught", .rules = {"lenient"}},
      {.name = "b", .kind = "precision", .what = "dropped", .state = "survived"},
      {.name = "c", .kind = "layout", .what = "", .state = "equivalent"}};
  study.perturbations["zero"] = {4, 3, 0, {"T=5 o (z = 20)"}, {{"lenient", 1}}};
  return study;
}

TEST(Power, ComesBackFromJson) {
  const auto json = power_to_json(power_study());
  EXPECT_EQ(power_to_json(power_from_json({json, "p"})), json);
}

TEST(Power, EquivalentOnesDoNotCount) {
  const auto score = total_score(power_study());
  EXPECT_EQ(score.caught, 1);
  EXPECT_EQ(score.total, 2);
  EXPECT_EQ(score.by_rule.at("lenient"), 1);
}

TEST(Power, SurvivorsAndMissedPerturbationsAreNamed) {
  const auto text = power_text(power_study());
  EXPECT_THAT(text, HasSubstr("SURVIVED  b: dropped"));
  EXPECT_THAT(text, HasSubstr("MISTRUSTED  T=5 o"));
  EXPECT_THAT(text, HasSubstr("50.0 %"));
}

TEST(Power, ReadsAsTheGoldenFile) { expect_golden(power_text(power_study()), "power.txt"); }

TEST(Study, IsAFileWithAHeadAndASection) {
  const auto path = std::filesystem::temp_directory_path() / "gdr2_study_test.json";
  const auto content = power_to_json(power_study());
  write_study(path, new_run({"gdr2", "power"}), "power", content);
  EXPECT_EQ(read_study(path, "power"), content);
  EXPECT_THROW(read_study(path, "calibration"), std::runtime_error);
  std::ofstream(path) << "{";
  EXPECT_THROW(read_study(path, "power"), std::runtime_error);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace gdr2
