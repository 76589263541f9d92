// SPDX-License-Identifier: Apache-2.0
// The judge passes right kernels in every dtype and rejects each kind of wrong one, naming what is
// wrong with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "properties/judge/check.hpp"
#include "properties/power/envelope_memo.hpp"
#include "reference/error.hpp"
#include "reference/rounding.hpp"
#include "tests/properties/tampered_kernel.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

/// Two chunks and a tail; smaller in fp64, whose truth is computed in 113 bits.
Case case_of(const std::string& dtype, const std::string& more = "") {
  const char* sizes = dtype == "fp64" ? "T=67 H=1 K=6 V=5" : "T=70 H=2 K=16 V=12";
  return parse_case(fmt::format("{} h0=1 dtype={} {}", sizes, dtype, more));
}

/// EXACT and GLOBAL alone: the other legs have tests of their own.
CheckOptions elements_only(const EnvelopeSource& envelope = make_envelope) {
  return {.envelope = envelope, .local = false, .statistics = false, .contract = false, .diagnosis = false};
}

Verdict check_tampered(const TamperedKernel::Tamper& tamper, const Case& c = case_of("bf16"),
                       const EnvelopeSource& envelope = make_envelope) {
  return check(TamperedKernel(tamper), c, elements_only(envelope));
}

/// Tampers with one named result only, when it is there.
TamperedKernel::Tamper with(Name name, std::function<void(Tensor&)> change) {
  return [=](const Problem&, Tensors&, Tensors& results) {
    if (const auto found = results.find(name); found != results.end()) change(found->second);
  };
}

class EveryDtype : public testing::TestWithParam<const char*> {};

TEST_P(EveryDtype, RightKernelsPass) {
  for (const char* kernel : {"cpu.chunk", "cpu.recurrent"})
    for (const char* more : {"", "l2norm=1 neg_eigval=1 gate=softplus HV=4", "recipe=slow seed=2"}) {
      const auto verdict = check(find_kernel(kernel), case_of(GetParam(), more));
      EXPECT_EQ(verdict.state, State::kPassed) << kernel << " " << more << ": " << verdict.reason;
    }
}

TEST_P(EveryDtype, EveryResultSetToZeroIsRejected) {
  const auto c = case_of(GetParam());
  EnvelopeMemo memo;
  for (auto names : {output_names(c.problem), gradient_names(c.problem)})
    for (auto name : names) {
      const auto verdict = check_tampered(
          with(name, [](Tensor& t) { t.assign(std::vector<double>(t.size())); }), c, memo.source());
      EXPECT_EQ(verdict.state, State::kFailed) << to_string(name);
      EXPECT_EQ(verdict.leg, "global");
      EXPECT_THAT(verdict.reason, HasSubstr(std::string(to_string(name)) + ":"));
    }
}

TEST_P(EveryDtype, OneWrongElementIsFoundAndNamed) {
  const auto c = case_of(GetParam());
  EnvelopeMemo memo;
  for (auto names : {output_names(c.problem), gradient_names(c.problem)})
    for (auto name : names) {
      const auto verdict = check_tampered(with(name, [](Tensor& t) {
        double sum = 0;
        for (double x : t.to_doubles()) sum += x * x;
        t.set(5, t.get(5) + 0.5 * std::sqrt(sum / double(t.size())));
      }), c, memo.source());
      EXPECT_EQ(verdict.state, State::kFailed) << to_string(name);
      EXPECT_THAT(verdict.reason, HasSubstr(element_name(c.problem, name, 5)));
    }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, EveryDtype, testing::Values("fp64", "fp32", "tf32", "bf16", "fp16"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Judge, ANaNInOneElementFailsTheExactLeg) {
  const auto verdict = check_tampered(with(Name::dk, [](Tensor& t) { t.set(9, NAN); }));
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_EQ(verdict.leg, "exact");
  EXPECT_THAT(verdict.reason, HasSubstr("dk: 1 NaN"));
}

TEST(Judge, AnInfinityInOneElementFailsTheExactLeg) {
  const auto verdict = check_tampered(with(Name::ht, [](Tensor& t) { t.set(9, HUGE_VAL); }));
  EXPECT_EQ(verdict.leg, "exact");
  EXPECT_THAT(verdict.reason, HasSubstr("1 infinite"));
}

TEST(Judge, AnElementNeverWrittenIsNamed) {
  // Puts the poison of each run back.
  const auto verdict = check_tampered(with(Name::o, [](Tensor& t) {
    const auto* guard = t.storage()->data();
    std::copy_n(guard, 2, t.data() + 2 * 7);
  }));
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_EQ(verdict.leg, "exact");
}

TEST(Judge, AFinitePoisonLeftInPlaceIsNoExcuse) {
  const auto verdict = check_tampered(with(Name::dh0, [](Tensor& t) {
    if (t.storage()->front() == std::byte{0x5A}) std::copy_n(t.storage()->data(), 4, t.data());
  }));
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_THAT(verdict.reason, HasSubstr("dh0: element n=0 h=0 k=0 v=0"));
}

TEST(Judge, AWriteOutsideATensorIsFound) {
  for (const std::ptrdiff_t offset : {-1, 0}) {
    const auto verdict = check_tampered(with(Name::dv, [=](Tensor& t) {
      t.data()[offset < 0 ? -1 : t.size() * 2] = std::byte{1};
    }));
    EXPECT_EQ(verdict.state, State::kFailed);
    EXPECT_THAT(verdict.reason, HasSubstr("dv: the kernel wrote outside the tensor"));
  }
}

TEST(Judge, AWriteToAnInputIsFound) {
  const auto verdict = check_tampered([](const Problem&, Tensors& inputs, Tensors&) {
    inputs.at(Name::w).data()[3] = std::byte{0xA5};  // w is in [0, 1]: its sign is never set
  });
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_THAT(verdict.reason, HasSubstr("w: the kernel wrote to an input"));
}

TEST(Judge, TwoRunsWithOtherBitsAreFound) {
  int run = 0;
  const auto verdict = check_tampered([&](const Problem&, Tensors&, Tensors& results) {
    if (auto o = results.find(Name::o); o != results.end() && run++ == 1)
      o->second.set(4, o->second.get(4) * (1 + 0x1p-7));
  });
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_THAT(verdict.reason, HasSubstr("differs between two runs"));
}

TEST(Judge, AnExceptionCostsTheCaseAndKeepsItsMessage) {
  const auto verdict = check_tampered(
      [](const Problem&, Tensors&, Tensors&) { throw std::runtime_error("lost the device"); });
  EXPECT_EQ(verdict.state, State::kCrashed);
  EXPECT_EQ(verdict.reason, "lost the device");
}

TEST(Judge, AStateInBf16UnderAnFp32ContractIsFound) {
  const auto verdict = check_tampered(
      with(Name::ht, [](Tensor& t) {
        for (std::int64_t i = 0; i < t.size(); ++i) t.set(i, round_nearest(t.get(i), Format::kBF16));
      }),
      case_of("fp32"));
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_EQ(verdict.leg, "global");
}

TEST(Judge, RecordedResultsAreJudgedWithoutAKernel) {
  auto c = case_of("bf16");
  auto results = allocated(c.problem, output_names(c.problem));
  find_kernel("cpu.chunk").forward(c.problem, make_inputs(c), results);
  const auto contract = standard_contract(Format::kBF16);
  EXPECT_EQ(judge_results(c, contract, results).state, State::kPassed);
  results.at(Name::o).set(11, 3);
  const auto verdict = judge_results(c, contract, results);
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_THAT(verdict.reason, HasSubstr(element_name(c.problem, Name::o, 11)));
}

}  // namespace
}  // namespace gdr2
