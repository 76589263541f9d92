// SPDX-License-Identifier: Apache-2.0
// A kernel from elsewhere that does one thing wrong, on the second of three cases: that case gets the state
// and reason said here, and costs no other.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "reports/report_file.hpp"
#include "tests/cli/process.hpp"

namespace gdr2 {

struct Misbehaviour {
  std::string fault;
  State state;
  std::string reason;
};

inline std::string name_of(const testing::TestParamInfo<Misbehaviour>& info) { return info.param.fault; }

/// Judges the three cases (`rest` of their lines) with these options, and returns their records.
inline std::vector<CaseRecord> judge_three(const std::string& rest, std::vector<std::string> options,
                                           int status) {
  const TemporaryFolder folder;
  const auto report = folder.path("report.json");
  options.insert(options.begin(), {"verify", "T=12" + rest, "T=13" + rest, "T=14" + rest});
  options.insert(options.end(), {"--json", report});
  const auto outcome = gdr2_with(options);
  EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
  return read_report(report).cases;
}

inline std::vector<CaseRecord> expect_costs_its_case_alone(const Misbehaviour& misbehaviour,
                                                           const std::string& rest,
                                                           std::vector<std::string> options) {
  const auto& [fault, state, reason] = misbehaviour;
  const bool fine = state == State::kPassed || state == State::kSkipped;
  auto cases = judge_three(rest, std::move(options), fine ? 0 : 1);
  EXPECT_EQ(cases.size(), 3u);
  if (cases.size() != 3) return {};
  EXPECT_EQ(to_string(cases[1].verdict.state), std::string(to_string(state)));
  EXPECT_THAT(cases[1].verdict.reason, testing::HasSubstr(reason));
  EXPECT_EQ(cases[0].verdict.state, State::kPassed);
  EXPECT_EQ(cases[2].verdict.state, State::kPassed);
  return cases;
}

}  // namespace gdr2
