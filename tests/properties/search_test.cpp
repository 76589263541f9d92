// SPDX-License-Identifier: Apache-2.0
// Drawn cases are the same every time and stay in the domain; shrinking finds what a failure needs and
// nothing else; what a search finds can be saved and fails again, bit for bit.
#include "properties/search/search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "properties/power/mutant.hpp"
#include "properties/search/generator.hpp"
#include "properties/search/shrink.hpp"

namespace gdr2::search {
namespace {

const std::vector<Format> kDtypes{Format::kF32, Format::kBF16, Format::kF16};

TEST(Generator, TheSameNumberIsTheSameCase) {
  for (std::int64_t n = 0; n < 40; ++n) {
    const auto a = draw_case(7, n, kDtypes), b = draw_case(7, n, kDtypes);
    EXPECT_EQ(to_string(a), to_string(b));
    if (!a.given) continue;
    for (const auto& [name, tensor] : *a.given)
      EXPECT_EQ(tensor.to_doubles(), b.given->at(name).to_doubles());
  }
}

TEST(Generator, EveryInputIsInItsDomain) {
  for (std::int64_t n = 0; n < 60; ++n) {
    const auto c = draw_case(3, n, kDtypes);
    for (const auto& [name, tensor] : make_inputs(c))
      for (const double x : tensor.to_doubles()) {
        const bool decay = name == Name::g && c.problem.gate == Gate::kLog;
        ASSERT_TRUE(decay ? x <= 0 : std::isfinite(x)) << to_string(c) << " " << to_string(name);
        if (name == Name::b || name == Name::w) {
          ASSERT_TRUE(x >= 0 && x <= 2);
        }
      }
  }
}

TEST(Generator, BitPatternsReachBothEndsOfTheirExponentsAndSignificands) {
  double least = HUGE_VAL, most = 0;
  int powers = 0, zeros = 0;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const double x = bit_pattern(i * 0x9E3779B97F4A7C15u, DType::kBF16, -8, 5);
    zeros += x == 0;
    if (x == 0) continue;
    least = std::min(least, std::fabs(x));
    most = std::max(most, std::fabs(x));
    powers += std::ldexp(1, std::ilogb(x)) == std::fabs(x);
  }
  EXPECT_EQ(least, 0x1p-8);
  EXPECT_EQ(most, 63.75);  // 2^5 (2 - 2^-7)
  EXPECT_GT(powers, 500);
  EXPECT_GT(zeros, 100);
}

/// A failure that needs 66 tokens of one sequence, a certain head and one large value.
TEST(Shrink, LeavesWhatAFailureNeeds) {
  const auto c = parse_case("lens=5,0,150,7 H=3 HV=6 K=32 V=24 h0=1 view=fused neg_eigval=1 gate=softplus");
  int asked = 0;
  const StillFails needs = [&](const Case& candidate) {
    ++asked;
    const auto inputs = make_inputs(candidate);
    const auto& v = inputs.at(Name::v);
    bool large = false;
    for (const double x : v.to_doubles()) large |= x >= 2;
    for (const auto s : candidate.problem.sequences())
      if (s.length() > 65 && large && candidate.problem.K >= 3) return true;
    return false;
  };
  ASSERT_TRUE(needs(c));
  asked = 0;
  const auto shrunk = shrink(c, needs, 2000);
  EXPECT_EQ(shrunk.evaluations, asked);
  EXPECT_EQ(to_string(shrunk.c.problem), "T=66 K=3 V=1 scale=1 pass=fwd");
  int nonzero = 0;
  for (const auto& [name, tensor] : make_inputs(shrunk.c))
    for (const double x : tensor.to_doubles()) nonzero += x != 0 && name != Name::v;
  EXPECT_EQ(nonzero, 0);
}

TEST(Shrink, StopsAtItsBudget) {
  const auto c = parse_case("T=130 K=32 V=24");
  EXPECT_EQ(shrink(c, [](const Case&) { return true; }, 9).evaluations, 9);
}

/// A planted fault is found, made small, saved, and fails again from the file, bit for bit.
TEST(Search, FindsAPlantedFaultAndSavesACaseThatReplays) {
  const auto mutant = power::make_mutant(power::find_fault("forward.state_dropped"));
  Options options{.seed = 1, .dtypes = {Format::kBF16}, .budget = 400, .findings = 1};
  const auto outcome = search(*mutant, options, [](std::int64_t done, const auto&) { return done < 30; });
  ASSERT_EQ(outcome.findings.size(), 1u);
  const auto& found = outcome.findings.front();
  EXPECT_EQ(found.verdict.state, State::kFailed);
  EXPECT_LE(found.minimal.problem.T, 2 * kChunk);
  EXPECT_EQ(found.minimal.problem.HV, 1);
  EXPECT_LE(found.minimal.problem.K, 16);

  const auto folder = std::filesystem::path(testing::TempDir()) / "gdr2_search_test";
  const auto line = save_finding(found, folder, "test", {{"fault", mutant->name()}});
  const auto again = examine(*mutant, parse_case(line), found.law);
  EXPECT_EQ(again.state, found.verdict.state);
  EXPECT_EQ(again.reason, found.verdict.reason);
  EXPECT_EQ(examine(find_kernel("cpu.chunk"), parse_case(line), found.law).state, State::kPassed);
  std::filesystem::remove_all(folder);
}

TEST(Search, FindsNothingWrongWithRightKernelsAndCoversOptions) {
  for (const char* name : {"cpu.chunk", "cpu.recurrent"}) {
    const auto outcome =
        search(find_kernel(name), {.seed = 2}, [](std::int64_t done, const auto&) { return done < 12; });
    for (const auto& finding : outcome.findings)
      ADD_FAILURE() << name << ": " << to_string(finding.origin) << ": " << finding.verdict.reason;
    EXPECT_EQ(outcome.judged, 12);
    EXPECT_GT(outcome.coverage.tails().size(), 6u);
    EXPECT_GT(outcome.coverage.pairs(), 200);
    EXPECT_LE(outcome.coverage.pairs(), outcome.coverage.pairs_known());
  }
}

/// A kernel that decodes has no backward.
class ForwardOnly : public Kernel {
 public:
  ForwardOnly() : Kernel("forward_only", "the token loop without its backward") {}

 private:
  std::optional<std::string> do_unsupported(const Problem& p) const override {
    if (p.backward) return "no backward";
    return std::nullopt;
  }
  Contract do_contract(const Problem& p) const override { return of().contract(p); }
  void do_forward(const Problem& p, const Tensors& in, Tensors& out) const override { of().forward(p, in, out); }
  void do_backward(const Problem&, const Tensors&, Tensors&) const override { FAIL(); }
  static const Kernel& of() { return find_kernel("cpu.recurrent"); }
};

TEST(Search, TakesTheForwardOfCasesWhereAKernelHasNoMore) {
  const auto outcome =
      search(ForwardOnly(), {.seed = 2}, [](std::int64_t done, const auto&) { return done < 8; });
  EXPECT_EQ(outcome.judged, 8);
  EXPECT_EQ(outcome.skipped, 0);
  for (const auto& finding : outcome.findings)
    ADD_FAILURE() << to_string(finding.origin) << ": " << finding.verdict.reason;
}

}  // namespace
}  // namespace gdr2::search
