// SPDX-License-Identifier: Apache-2.0
// Calls whose values lie where a kernel works: how they are drawn, cut, and compared by name.
#include "properties/laws/placed_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/laws/law_run.hpp"

namespace gdr2::laws {
namespace {

const Kernel& kernel() { return find_kernel("cpu.chunk"); }

PlacedCall call_of(const char* line) { return placed_call(kernel(), parse_case(line)); }

TEST(PlacedCall, HoldsTheValuesOfTheCase) {
  const auto c = parse_case("B=2 T=5 K=4 V=3 h0=1 view=fused gate=softplus");
  const auto inputs = make_inputs(c);
  const auto call = placed_call(kernel(), c);
  ASSERT_EQ(call.inputs.size(), inputs.size());
  for (const auto& [name, array] : call.inputs)
    EXPECT_EQ(array.as_tensor().to_doubles(), inputs.at(name).to_doubles()) << to_string(name);
}

/// What one law does to a large case's inputs, or a kernel to the inputs it was handed, no other law meets.
TEST(PlacedCall, OfALargeCaseHasMemoryOfItsOwn) {
  const char* large = "B=2 T=1 K=4096 V=2048 h0=1 pass=fwd";
  const auto first = call_of(large);
  const auto value = first.inputs.at(Name::v).get(7);
  fill(first.inputs.at(Name::v), 99);
  EXPECT_EQ(call_of(large).inputs.at(Name::v).get(7), value);
  EXPECT_NE(call_of("B=2 T=1 K=4096 V=2048 h0=1 pass=fwd seed=2").inputs.at(Name::v).get(7), value);
}

TEST(PlacedCall, SelectsSequencesAsTensorsAreSelected) {
  for (const char* line : {"B=3 T=4 H=2 K=4 V=3 h0=1 layout=vk", "lens=3,0,5 H=2 K=4 V=3 h0=1"}) {
    const auto c = parse_case(line);
    const auto want = select(Call{c.problem, make_inputs(c)}, {2, 0});
    const auto got = select(call_of(line), {2, 0});
    EXPECT_EQ(got.problem, want.problem);
    for (const auto& [name, tensor] : want.inputs)
      EXPECT_EQ(got.inputs.at(name).as_tensor().to_doubles(), tensor.to_doubles())
          << to_string(name);
  }
}

TEST(PlacedCall, ResultsAreThoseOfACallOnTensors) {
  const auto c = parse_case("lens=3,0,5 H=1 HV=2 K=4 V=3 h0=1");
  const auto want = run(kernel(), Call{c.problem, make_inputs(c)});
  const auto got = run(kernel(), placed_call(kernel(), c));
  ASSERT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : want)
    EXPECT_EQ(got.at(name).as_tensor().to_doubles(), tensor.to_doubles()) << to_string(name);
}

TEST(PlacedCall, ADifferenceInASequenceIsNamedByItsPlaceInTheWhole) {
  const auto p = parse_problem("lens=3,0,5 H=2 K=4 V=3");
  const auto got = make_array(kernel(), p, Name::o), want = make_array(kernel(), p, Name::o);
  fill(got, 1), fill(want, 1);
  fill(tokens(p, got, 2, 1, 2).part(2, 1, 1).part(3, 2, 1), 2);
  EXPECT_EQ(
      difference(p, Name::o, of_sequence(p, Name::o, got, 0), of_sequence(p, Name::o, want, 0)),
      std::nullopt);
  EXPECT_THAT(
      difference(p, Name::o, of_sequence(p, Name::o, got, 2), of_sequence(p, Name::o, want, 2)),
      testing::Optional(std::string("o b=0 t=4 h=1 c=2: 0x1p+1, expected 0x1p+0; 2 of 30 differ")));
}

TEST(PlacedCall, EveryStepThEntryMayBeNone) {
  const auto array = make_array(kernel(), parse_problem("T=2 K=4 V=3"), Name::q);
  EXPECT_EQ(every(array, 3, 1, 2).shape()[3], 2);
  EXPECT_EQ(every(array, 3, 0, 3).shape()[3], 2);
  EXPECT_EQ(every(array, 3, 4, 5).size(), 0);
}

}  // namespace
}  // namespace gdr2::laws
