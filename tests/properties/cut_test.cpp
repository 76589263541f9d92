// SPDX-License-Identifier: Apache-2.0
// A problem cut at its chunk borders is the same mathematics: from exact states, its exact results are
// the rows of the whole problem's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "fixtures/case.hpp"
#include "properties/judge/screen.hpp"
#include "reference/emulate.hpp"

namespace gdr2 {
namespace {

Tensors exact_results(const Problem& p, const Tensors& inputs) {
  const auto in = to_values<double>(inputs);
  auto values = reference<double>(p, in);
  values.merge(exact_stages(p, in, emulated_stages(p, standard_contract(Format::kBF16))));
  Tensors results;
  for (const auto& [name, x] : values) {
    results[name] = Tensor(DType::kF64, shape_of(p, name));
    results[name].assign(x);
  }
  return results;
}

Cut cut_all(const Case& c) {
  const auto inputs = make_inputs(c);
  std::vector<std::int64_t> all(chunk_count(c.problem));
  std::iota(all.begin(), all.end(), 0);
  return cut(c.problem, inputs, exact_results(c.problem, inputs), all);
}

class CutAtChunks : public testing::TestWithParam<const char*> {};

TEST_P(CutAtChunks, GivesTheWholesResults) {
  const auto c = cut_all(parse_case(GetParam()));
  auto in = to_values<double>(c.inputs);
  const auto wanted = reference<double>(c.problem, in);
  for (const auto& [name, x] : c.results) {
    if (is_stage(name)) continue;
    ASSERT_EQ(x.size(), wanted.at(name).size()) << to_string(name);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!std::isnan(x[i])) {
        EXPECT_NEAR(x[i], wanted.at(name)[i], 1e-9) << to_string(name) << i;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CutAtChunks,
                         testing::Values("T=150 H=2 HV=4 K=8 V=6 dtype=fp64 h0=1 recipe=slow",
                                         "lens=0,70,0,129,3 K=8 V=6 dtype=fp64 layout=vk h0=1",
                                         "B=2 T=65 K=8 V=6 dtype=fp64 loss=o gate=softplus l2norm=1 "
                                         "neg_eigval=1",
                                         "T=130 K=8 V=6 dtype=fp64 loss=ht ht=0 view=fused"));

TEST(Cut, LeavesUnknownWhatTheKernelDoesNotGive) {
  const auto c = cut_all(parse_case("T=130 K=4 V=3 dtype=fp64 ht=0 loss=o"));
  const auto unknown = [&](Name name, std::size_t chunk) {
    return std::isnan(c.results.at(name)[chunk * 12]);
  };
  EXPECT_FALSE(unknown(Name::ht, 0));
  EXPECT_TRUE(unknown(Name::ht, 2));
  EXPECT_TRUE(unknown(Name::dh0, 0));
  EXPECT_FALSE(unknown(Name::dh0, 1));
}

TEST(Cut, NamesElementsAsTheWholeDoes) {
  const auto c = cut_all(parse_case("lens=3,70 H=2 K=4 V=3 dtype=fp64"));
  // The third sequence of the cut is the tail of sequence 1: tokens 67 .. 72 of the cut, 2 heads of 3.
  EXPECT_EQ(name_in_whole(c, Name::o, (67 + 2) * 6 + 3 + 1),
            "sequence 1 head 1 chunk 1 row 2 channel 1");
  EXPECT_EQ(name_in_whole(c, Name::ht, (2 * 2 + 1) * 12 + 2 * 3),
            "sequence 1 head 1 chunk 1 key channel 2 channel 0");
}

TEST(Screen, BringsTheOneChunkThatIsWrong) {
  const auto c = parse_case("T=1300 K=4 V=3 dtype=fp64 h0=1 recipe=slow");
  const auto inputs = make_inputs(c);
  auto results = exact_results(c.problem, inputs);
  for (auto& [name, tensor] : results)  // a right kernel has errors everywhere
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      tensor.set(i, tensor.get(i) * (1 + (i * 37 % 11 - 5) * 1e-6));
  auto& dk = results.at(Name::dk);
  for (std::int64_t chunk : {4, 13}) {
    const auto at = chunk * kChunk * 4 + 17;
    const auto before = dk.get(at);
    dk.set(at, before + 0.01);
    EXPECT_THAT(chosen_chunks(c.problem, inputs, results, 8, 1e9), testing::Contains(chunk));
    dk.set(at, before);
  }
}

TEST(Screen, ChoosesAllOfFewAndTheEndsOfMany) {
  const auto few = parse_case("T=130 K=4 V=3 dtype=fp64"), many = parse_case("T=1300 K=4 V=3 dtype=fp64");
  const auto chosen = [](const Case& c) {
    const auto inputs = make_inputs(c);
    return chosen_chunks(c.problem, inputs, exact_results(c.problem, inputs), 8, 1e9);
  };
  EXPECT_THAT(chosen(few), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(chosen(many), testing::AllOf(testing::SizeIs(8), testing::Contains(0), testing::Contains(20)));
}

TEST(Cut, NeedsTheStatesOfBothPasses) {
  const auto forward = parse_problem("T=70 pass=fwd"), both = parse_problem("T=70");
  const Tensors h{{Name::H, Tensor()}};
  EXPECT_TRUE(can_cut(forward, h));
  EXPECT_FALSE(can_cut(both, h));
  EXPECT_FALSE(can_cut(forward, {}));
}

}  // namespace
}  // namespace gdr2
