// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/operand_shares.hpp"

#include <gtest/gtest.h>

#include "fixtures/case.hpp"
#include "properties/judge/diagnosis.hpp"

namespace gdr2 {
namespace {

Evidence evidence_of(const Case& c, const Tensors& inputs) {
  const auto contract = standard_contract(c.problem.dtype);
  return {c.problem, contract, to_values<double>(inputs), {}, make_envelope(c.problem, inputs, contract), {}};
}

double share_of(const std::vector<Share>& shares, const std::string& name) {
  for (const auto& share : shares)
    if (share.name == name) return share.share;
  return -1;
}

constexpr double kNothing = 1e-24;  // what double and the order of its sums leave

/// Of a row in the middle of a tensor.
std::vector<Share> by_operand(const Evidence& e, Name name) {
  const auto width = shape_of(e.problem, name).back();
  const auto rows = std::ssize(e.envelope.reference.at(name)) / width;
  return variance_by_operand(e, name, rows / 2 * width, width, 4);
}

TEST(OperandShares, OfAReadOfAnExactQueryAreTheStatesAlone) {
  const auto c = parse_case("T=1 K=16 V=16 h0=1 scale=1 pass=fwd");
  auto inputs = make_inputs(c);
  for (auto name : {Name::k, Name::b, Name::v, Name::w, Name::g})
    inputs.at(name).assign(std::vector<double>(inputs.at(name).size(), 0.0));
  inputs.at(Name::q).assign(std::vector<double>(16, 1.0));
  const auto e = evidence_of(c, inputs);
  for (const auto& [operand, variance] : by_operand(e, Name::o)) EXPECT_EQ(variance > kNothing, operand == "S") << operand;
  const auto shares = variance_by_site(e, Name::o, 0);
  EXPECT_GT(share_of(shares, "operand S"), 0.99);
}

TEST(OperandShares, OfAStateFromNothingAreThoseOfItsWrites) {
  const auto c = parse_case("T=40 K=16 V=16 recipe=correlated");
  const auto shares = by_operand(evidence_of(c, make_inputs(c)), Name::ht);
  for (const auto* never : {"Qg", "Aqk", "S", "Ebar", "dR", "P"}) EXPECT_LT(share_of(shares, never), kNothing) << never;
  for (const auto* ever : {"A", "Kt", "R", "Z - Ebar S"}) EXPECT_GT(share_of(shares, ever), kNothing) << ever;
}

TEST(OperandShares, OfDvLackWhatOnlyLaterProductsTake) {
  const auto c = parse_case("T=40 K=16 V=16 h0=1 recipe=slow");
  const auto shares = by_operand(evidence_of(c, make_inputs(c)), Name::dv);
  for (const auto* never : {"P", "R"})  // dv = w P takes P unrounded
    EXPECT_LT(share_of(shares, never), kNothing) << never;
  for (const auto* ever : {"A", "Aqk", "Kt", "dR"}) EXPECT_GT(share_of(shares, ever), kNothing) << ever;
}

TEST(OperandShares, AddUpToOneWithTheOtherSites) {
  const auto c = parse_case("T=100 K=32 V=16 h0=1 gate=softplus l2norm=1 recipe=layer");
  const auto e = evidence_of(c, make_inputs(c));
  for (auto name : {Name::o, Name::dk, Name::dg}) {
    double sum = 0;
    for (const auto& [site, share] : variance_by_site(e, name, 5)) sum += share;
    EXPECT_NEAR(sum, 1, 0.1) << to_string(name);  // shares below half a per cent are left out
  }
}

TEST(OperandShares, ATokenLoopHasNone) {
  const auto c = parse_case("T=3 K=16 V=16 pass=fwd");
  auto e = evidence_of(c, make_inputs(c));
  e.contract.solve = Format::kNone;
  EXPECT_TRUE(by_operand(e, Name::o).empty());
}

}  // namespace
}  // namespace gdr2
