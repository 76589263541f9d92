// SPDX-License-Identifier: Apache-2.0
// LOCAL, STATISTICS, BIAS and CONTRACT: what each sees, and what each calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "properties/judge/check.hpp"
#include "properties/judge/downgrades.hpp"
#include "properties/judge/places.hpp"
#include "properties/judge/statistics.hpp"
#include "reference/error.hpp"
#include "tests/properties/emulated_kernel.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

const char* const kLine = "T=160 H=2 K=32 V=32 h0=1 recipe=slow";

const Figure& figure_of(const Verdict& verdict, const std::string& leg) {
  for (const auto& figure : verdict.figures)
    if (figure.leg == leg) return figure;
  throw std::out_of_range(leg);
}

/// A case's evidence with the emulator's own results.
Evidence right_evidence(const Case& c) {
  const auto inputs = make_inputs(c);
  const auto contract = standard_contract(c.problem.dtype);
  Evidence e{c.problem, contract, to_values<double>(inputs), {}, make_envelope(c.problem, inputs, contract), {}};
  e.values = e.envelope.reference;
  e.nearest = emulated_as_stored(e, contract);
  e.values = e.nearest;
  return e;
}

TEST(Legs, AllRunOnARightKernelAndStayWithinTheirLimits) {
  const auto verdict = check(find_kernel("cpu.chunk"), parse_case(kLine));
  EXPECT_EQ(verdict.state, State::kPassed) << verdict.reason;
  std::vector<std::string> legs;
  for (const auto& figure : verdict.figures) {
    legs.push_back(figure.leg);
    EXPECT_TRUE(figure.passes()) << figure.leg;
  }
  EXPECT_THAT(legs, testing::ElementsAre("global", "local", "statistics", "bias", "contract"));
}

struct Silent {
  const char* dtype;
  Format Contract::*site;
  Format format;
  const char* name;
};

class SilentDowngrade : public testing::TestWithParam<Silent> {};

TEST_P(SilentDowngrade, IsFoundAndNamed) {
  const auto& [dtype, site, format, name] = GetParam();
  const auto c = parse_case(fmt::format("{} l2norm=1 dtype={}", kLine, dtype));
  const auto declared = standard_contract(c.problem.dtype);
  auto computed = declared;
  computed.*site = format;
  const auto verdict = check(DowngradedKernel(declared, computed), c);
  EXPECT_EQ(verdict.state, State::kFailed);
  ASSERT_TRUE(verdict.diagnosis.has_value());
  EXPECT_EQ(verdict.diagnosis->site, name) << verdict.reason;
  EXPECT_GT(verdict.diagnosis->likeness, 0.99);
  EXPECT_THAT(figure_of(verdict, "contract").what, HasSubstr(name));
}

INSTANTIATE_TEST_SUITE_P(
    Sites, SilentDowngrade,
    testing::Values(Silent{"bf16", &Contract::state, Format::kBF16, "state in bf16"},
                    Silent{"bf16", &Contract::solve, Format::kTF32, "solve in tf32"},
                    Silent{"bf16", &Contract::solve, Format::kBF16, "solve in bf16"},
                    Silent{"bf16", &Contract::gate, Format::kBF16, "gate in bf16"},
                    Silent{"bf16", &Contract::accumulator, Format::kBF16, "sums in bf16"},
                    Silent{"bf16", &Contract::auxiliary, Format::kBF16, "auxiliaries in bf16"},
                    Silent{"bf16", &Contract::normalized, Format::kBF16, "normalized rows in bf16"},
                    Silent{"tf32", &Contract::operand, Format::kBF16, "operands in bf16"},
                    Silent{"tf32", &Contract::state, Format::kBF16, "state in bf16"},
                    Silent{"fp32", &Contract::operand, Format::kTF32, "operands in tf32"},
                    Silent{"fp16", &Contract::solve, Format::kTF32, "solve in tf32"}),
    [](const auto& info) {
      auto name = fmt::format("{}_{}", info.param.dtype, info.param.name);
      std::ranges::replace(name, ' ', '_');
      return name;
    });

TEST(Local, NamesTheStageAndElementThatBroke) {
  const auto contract = standard_contract(Format::kBF16);
  const DowngradedKernel kernel(contract, contract, [](const Problem& p, Values<double>& y) {
    const auto h = y.find(Name::R);
    if (h == y.end()) return;
    h->second[(1 * p.HV + 1) * kChunk * p.V + 20 * p.V + 3] += 1;
  });
  const auto verdict = check(kernel, parse_case(kLine));
  EXPECT_EQ(verdict.state, State::kFailed);
  ASSERT_TRUE(verdict.diagnosis.has_value());
  EXPECT_EQ(verdict.diagnosis->stage, "R");
  EXPECT_EQ(verdict.diagnosis->where,
            "R: 1 elements in sequence 0, head 1, chunk 1, 16-row block 1, row 20, channel 3");
  EXPECT_FALSE(verdict.diagnosis->variance.empty());
}

TEST(Local, SeesAStateThatIsNotWhatItsChunkHandsOn) {
  const auto contract = standard_contract(Format::kBF16);
  const DowngradedKernel kernel(contract, contract, [](const Problem& p, Values<double>& y) {
    const auto h = y.find(Name::H);
    if (h != y.end()) h->second[(2 * p.HV + 0) * p.K * p.V + 5 * p.V + 7] += 1;
  });
  const auto verdict = check(kernel, parse_case(kLine));
  EXPECT_EQ(verdict.state, State::kFailed);
  // What chunk 1 hands on is not H of chunk 2, and from that wrong H chunk 2 cannot have come by its own.
  EXPECT_THAT(verdict.diagnosis->where, HasSubstr("ht: "));
  EXPECT_THAT(verdict.diagnosis->where, HasSubstr("head 0, chunks 1 .. 2"));
  EXPECT_THAT(verdict.diagnosis->where, HasSubstr("channel 7"));
}

TEST(Stages, AStageThatIsNotWrittenFails) {
  const auto contract = standard_contract(Format::kBF16);
  const DowngradedKernel kernel(contract, contract, [](const Problem&, Values<double>& y) {
    if (const auto t = y.find(Name::T); t != y.end()) t->second[64] = NAN;
  });
  const auto verdict = check(kernel, parse_case(kLine));
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_EQ(verdict.leg, "exact");
  EXPECT_THAT(verdict.reason, HasSubstr("T: 1 NaN"));
}

TEST(Statistics, OfTheEmulatorItselfAreOne) {
  for (const auto& figure : judge_statistics(right_evidence(parse_case(kLine)))) {
    EXPECT_NEAR(figure.value, figure.leg == "bias" ? 0 : 1, 1e-12);
    EXPECT_TRUE(figure.passes());
  }
}

TEST(Statistics, NameTheClassWhoseErrorsAreLargerByAThird) {
  auto e = right_evidence(parse_case(kLine));
  const Places places(e.problem, Name::o);
  auto& o = e.values.at(Name::o);
  for (std::size_t i = 0; i < o.size(); ++i)
    if (places[std::int64_t(i)].channel / 16 == 1)
      o[i] += 0.33 * (o[i] - e.envelope.reference.at(Name::o)[i]);
  const auto ratio = judge_statistics(e)[0];
  EXPECT_FALSE(ratio.passes());
  EXPECT_EQ(ratio.what, "o channels of 16-block 1");
}

TEST(Statistics, SeeABiasThatNoElementShows) {
  auto e = right_evidence(parse_case(kLine));
  auto& o = e.values.at(Name::o);
  for (std::size_t i = 0; i < o.size(); ++i) o[i] += 0.5 * e.envelope.sigma.at(Name::o)[i];
  const auto bias = judge_statistics(e)[1];
  EXPECT_FALSE(bias.passes());
  EXPECT_THAT(bias.what, HasSubstr("o"));
}

TEST(Statistics, AreSilentOnWhatAKernelMayFlush) {
  auto e = right_evidence(parse_case(kLine));
  for (std::size_t i = 0; i < e.values.at(Name::o).size(); ++i) {
    e.envelope.reference.at(Name::o)[i] = 0x1.8p-127;
    e.envelope.sigma.at(Name::o)[i] = 0x1p-126;
    e.nearest.at(Name::o)[i] = 0x1.8p-127;
    for (auto& member : e.envelope.members) member.at(Name::o)[i] = 0;
    e.values.at(Name::o)[i] = 0;  // each wrong by 0.75 sigma, all to one side
  }
  for (const auto& figure : judge_statistics(e)) EXPECT_TRUE(figure.passes()) << figure.what;
}

TEST(Contract, OfATokenLoopHasNoSolveAndNoAuxiliaries) {
  for (const auto& downgrade : downgrades_of(token_contract(Format::kF32), parse_problem("T=64"))) {
    EXPECT_THAT(downgrade.name, testing::Not(HasSubstr("solve")));
    EXPECT_THAT(downgrade.name, testing::Not(HasSubstr("auxiliaries")));
  }
}

}  // namespace
}  // namespace gdr2
