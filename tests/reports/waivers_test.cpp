// SPDX-License-Identifier: Apache-2.0
#include "reports/waivers.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

std::vector<Waiver> waivers_from(const std::string& text) {
  const auto path = testing::TempDir() + "gdr2_waivers.txt";
  std::ofstream(path) << text;
  return read_waivers(path);
}

constexpr const char* kOne =
    "# comment\n\n2026-06-30 | #12 | kernel=k *recipe=spike* | dg | loses digits\n";

CaseRecord judged(State state, const std::string& line = "T=8 recipe=spike") {
  return {.kernel = "k", .line = line, .verdict = {.state = state}};
}

TEST(Waivers, AreReadWithReasonAndPlace) {
  const auto waivers = waivers_from(kOne);
  ASSERT_EQ(waivers.size(), 1u);
  EXPECT_EQ(waivers[0].until, "2026-06-30");
  EXPECT_EQ(waivers[0].reason, "dg | loses digits");
  EXPECT_THAT(waivers[0].place, HasSubstr("gdr2_waivers.txt:3"));
}

TEST(Waivers, ExcuseTheCasesThatTheirPatternFits) {
  const auto waivers = waivers_from(kOne);
  auto fits = judged(State::kFailed), other = judged(State::kFailed, "T=8 recipe=slow");
  apply_waivers(waivers, "2026-06-30", fits);
  apply_waivers(waivers, "2026-06-30", other);
  EXPECT_THAT(fits.waiver, HasSubstr("dg | loses digits (#12, "));
  EXPECT_FALSE(is_bad(fits));
  EXPECT_EQ(fits.verdict.state, State::kFailed);
  EXPECT_TRUE(is_bad(other));
}

TEST(Waivers, ThatAreNotNeededFail) {
  auto record = judged(State::kPassed);
  apply_waivers(waivers_from(kOne), "2026-06-30", record);
  EXPECT_TRUE(is_bad(record));
  EXPECT_THAT(record.verdict.reason, HasSubstr("passed, although it is waived"));
}

TEST(Waivers, ThatExpiredFailWhateverTheCaseDid) {
  for (auto state : {State::kPassed, State::kFailed}) {
    auto record = judged(state);
    apply_waivers(waivers_from(kOne), "2026-07-01", record);
    EXPECT_TRUE(is_bad(record));
    EXPECT_THAT(record.verdict.reason, HasSubstr("expired on 2026-06-30"));
  }
}

TEST(Waivers, LeaveASkippedCaseAlone) {
  auto record = judged(State::kSkipped);
  apply_waivers(waivers_from(kOne), "2027-01-01", record);
  EXPECT_EQ(record.verdict.state, State::kSkipped);
}

TEST(Waivers, AreRefusedWithThePlaceOfWhatIsWrong) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      waivers_from(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "not refused";
  };
  EXPECT_THAT(message("\n2026-06-30 | #1 | x\n"), HasSubstr("waivers.txt:2: not of the form"));
  EXPECT_THAT(message("2026-02-30 | #1 | x | y"),
              HasSubstr(":1: until: '2026-02-30' is not a day"));
  EXPECT_THAT(message("tomorrow | #1 | x | y"), HasSubstr("until: 'tomorrow'"));
  EXPECT_THAT(message("2026-06-30 | 1 | x | y"), HasSubstr("issue: '1'"));
  EXPECT_THAT(message("2026-06-30 | #1 |  | y"), HasSubstr("pattern: empty"));
  EXPECT_THAT(message("2026-06-30 | #1 | x | "), HasSubstr("reason: empty"));
  EXPECT_THROW(read_waivers("/none"), Error);
}

}  // namespace
}  // namespace gdr2
