// SPDX-License-Identifier: Apache-2.0
// Problems too large for GLOBAL: right kernels pass and the verdict says what was left out; what is wrong
// is found by what is left.
#include "properties/judge/large.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "properties/judge/check.hpp"
#include "properties/judge/screen.hpp"
#include "properties/laws/balance.hpp"
#include "properties/laws/law_run.hpp"
#include "tests/properties/tampered_kernel.hpp"

namespace gdr2 {
namespace {

using testing::HasSubstr;

/// As if the limit lay below the case.
CheckOptions as_large() { return {.global_work = 1}; }

Case a_case() { return parse_case("T=700 H=1 K=16 V=16 h0=1 recipe=slow"); }

TEST(Large, ARightKernelPassesAndTheNoteSaysHow) {
  const auto verdict = check(find_kernel("cpu.chunk"), a_case(), as_large());
  EXPECT_EQ(verdict.state, State::kPassed) << verdict.reason;
  ASSERT_FALSE(verdict.notes.empty());
  EXPECT_THAT(verdict.notes.back(),
              HasSubstr("query_balance, write_balance, linearity_balance, decay_balance"));
  EXPECT_THAT(verdict.notes.back(), HasSubstr("11 of 11 chunks"));
  for (const auto& tensor : verdict.tensors) EXPECT_EQ(tensor.leg, "local");
}

TEST(Large, AKernelWithoutStatesIsMistrusted) {
  const auto kernel = TamperedKernel([](const Problem&, Tensors&, Tensors&) {});
  const auto verdict = check(kernel, a_case(), as_large());
  EXPECT_EQ(verdict.state, State::kMistrusted);
  EXPECT_THAT(verdict.reason, HasSubstr("exports no states"));
}

TEST(Large, ANaNAnywhereFails) {
  const auto kernel = TamperedKernel([](const Problem&, Tensors&, Tensors& results) {
    if (const auto o = results.find(Name::o); o != results.end()) o->second.set(4000, NAN);
  });
  const auto verdict = check(kernel, a_case(), as_large());
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_EQ(verdict.leg, "exact");
  EXPECT_THAT(verdict.reason, HasSubstr("o: b=0 t=250 h=0 c=0 is nan"));
}

TEST(Large, AnOpenBalanceFailsByItsLaw) {
  const auto kernel = TamperedKernel([](const Problem&, Tensors&, Tensors& results) {
    const auto dw = results.find(Name::dw);
    if (dw == results.end()) return;
    for (std::int64_t i = 4000; i < 4016; ++i) dw->second.set(i, dw->second.get(i) + 1);
  });
  const auto verdict = check(kernel, a_case(), as_large());
  EXPECT_EQ(verdict.state, State::kFailed);
  EXPECT_EQ(verdict.leg, "laws");
  EXPECT_THAT(verdict.reason, HasSubstr("write_balance: sequence 0 token 250"));
}

TEST(Large, EvenlySpacedChunksAreScreenedWhereAllAreTooMany) {
  const auto c = parse_case("T=6400 H=1 K=4 V=4 h0=1 pass=fwd");
  const auto& kernel = find_kernel("cpu.chunk");
  auto results = allocated(c.problem, {Name::o, Name::ht, Name::H});
  const auto inputs = make_inputs(c);
  kernel.forward(c.problem, inputs, results);
  const double work_of_chunk = 64 * 4 * 4;
  const auto few = chosen_chunks(c.problem, inputs, results, 16, 20 * work_of_chunk);
  EXPECT_EQ(few.size(), 16u);
  EXPECT_EQ(few.front(), 0);
  EXPECT_EQ(few.back(), 99);
  // Chunk 50 is among the 20 screened (99 i / 19) or not; one wrong element in a screened one is found.
  results.at(Name::o).set(52 * 64 * 4 + 7, 100);
  EXPECT_THAT(chosen_chunks(c.problem, inputs, results, 16, 20 * work_of_chunk),
              testing::Contains(52));
}

TEST(Balances, OfAnyThreadsAndAnyStridesAreTheSame) {
  // 20000 tokens are read by several threads; the violation named is the first in time.
  const auto c = parse_case("T=20000 H=1 K=4 V=4 h0=1 recipe=slow view=padded");
  const auto contract = standard_contract(c.problem.dtype);
  const auto inputs = make_inputs(c);
  auto tensors = laws::run(find_kernel("cpu.chunk"), {c.problem, inputs});
  for (const auto& [name, tensor] : inputs) tensors[name] = tensor;
  for (const auto& [law, violation] : laws::balances(c.problem, contract, tensors))
    EXPECT_EQ(violation, std::nullopt) << law;
  for (const std::int64_t t : {19000, 9000, 300})
    for (std::int64_t i = 0; i < 4; ++i) tensors.at(Name::dv).set(4 * t + i, 1e3);
  for (const auto& [law, violation] : laws::balances(c.problem, contract, tensors))
    if (law == "write_balance") EXPECT_THAT(violation.value_or(""), HasSubstr("token 300 "));
}

}  // namespace
}  // namespace gdr2
