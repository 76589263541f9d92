// SPDX-License-Identifier: Apache-2.0
// The hand-derived adjoint against dual numbers and against difference quotients, in 100 digits, for
// every input under every option; and small Jacobians whole, entry by entry.
#include <gtest/gtest.h>

#include "fixtures/case.hpp"
#include "fixtures/random.hpp"
#include "gradcheck/derivative.hpp"

namespace gdr2 {
namespace {

/// 100 digits less what a few hundred roundings and the size of the terms take away.
const char* const kAgreement = "1e-80";

class In100Digits : public testing::TestWithParam<const char*> {
 protected:
  In100Digits() { Mpfr::default_precision(110); }
};

Values<Mpfr> absolute(Values<Mpfr> values) {
  for (auto& [name, x] : values)
    for (auto& value : x) value = abs(value);
  return values;
}

/// Uniform in (-1, 1), in the tensors of `like` that `chosen` lets through.
template <class Chosen>
Values<Mpfr> random_direction(const Values<Mpfr>& like, std::uint64_t seed, const Chosen& chosen) {
  const Random random(seed);
  Values<Mpfr> direction;
  for (const auto& [name, x] : like)
    if (chosen(name))
      for (std::size_t i = 0; i < x.size(); ++i)
        direction[name].push_back(random.uniform(to_string(name), std::int64_t(i), -1, 1));
  return direction;
}

struct Pairing {
  Values<Mpfr> inputs, gradients, dout;
  Problem problem;

  explicit Pairing(const Case& c) : problem(c.problem) {
    inputs = to_values<Mpfr>(make_inputs(c));
    gradients = as_inputs(adjoint(problem, inputs));
    dout = as_outputs(inputs);
  }

  /// <dout, J d> - <J^T dout, d> over the sum of the absolute terms.
  Mpfr disagreement(const Values<Mpfr>& outputs_tangent, const Values<Mpfr>& direction) const {
    const Mpfr scale = inner(absolute(outputs_tangent), absolute(dout)) +
                       inner(absolute(gradients), absolute(direction));
    const Mpfr difference = inner(outputs_tangent, dout) - inner(gradients, direction);
    return scale == 0 ? Mpfr(abs(difference)) : Mpfr(abs(difference) / scale);
  }
};

constexpr const char* kOptions[] = {
    "T=9 K=5 V=4 h0=1",
    "T=9 K=5 V=4",
    "T=9 K=5 V=4 h0=1 loss=ht",
    "T=9 K=5 V=4 h0=1 loss=o scale=0.75",
    "B=2 T=6 H=2 HV=6 K=3 V=5 h0=1",
    "lens=0,5,1,0,7 H=2 K=4 V=3 h0=1 layout=vk",
    "T=9 K=5 V=4 h0=1 gate=softplus",
    "T=9 H=2 HV=4 K=5 V=4 h0=1 gate=lower_bound lower_bound=-3",
    "T=9 K=5 V=4 h0=1 l2norm=1",
    "T=9 K=5 V=4 h0=1 neg_eigval=1",
    "lens=4,0,6 H=2 HV=4 K=4 V=5 h0=1 layout=vk gate=softplus l2norm=1 neg_eigval=1",
    "lens=4,0,6 H=2 HV=4 K=4 V=5 h0=1 gate=lower_bound l2norm=1 neg_eigval=1 scale=2",
    "T=9 K=5 V=4 h0=1 recipe=slow",
    "T=9 K=5 V=4 h0=1 recipe=forget",
    "T=9 K=5 V=4 h0=1 recipe=spike4",
    "T=9 K=5 V=4 h0=1 recipe=correlated",
    "T=9 K=5 V=4 h0=1 recipe=zero_keys l2norm=1",
    "T=9 K=5 V=4 h0=1 recipe=onehot",
    "T=9 H=2 K=5 V=4 h0=1 recipe=saturated gate=softplus",
    "T=9 H=2 K=5 V=4 h0=1 recipe=saturated gate=lower_bound",
    "T=40 K=5 V=4 h0=1 recipe=converged",
};

Case case_of(const std::string& line) { return parse_case(line + " dtype=fp64"); }

TEST_P(In100Digits, TheAdjointPairsWithDualNumbersInRandomDirections) {
  const Pairing x(case_of(GetParam()));
  for (int seed = 1; seed <= 3; ++seed) {
    const auto d = random_direction(x.gradients, seed, [](Name) { return true; });
    const auto error = x.disagreement(jvp(x.problem, x.inputs, d), d);
    EXPECT_TRUE(error <= Mpfr(kAgreement)) << error;
  }
}

TEST_P(In100Digits, TheAdjointPairsWithDualNumbersAlongEachInputAlone) {
  const Pairing x(case_of(GetParam()));
  for (const auto& [name, gradient] : x.gradients) {
    const auto d =
        random_direction(x.gradients, 4, [&, only = name](Name other) { return other == only; });
    const auto error = x.disagreement(jvp(x.problem, x.inputs, d), d);
    EXPECT_TRUE(error <= Mpfr(kAgreement)) << to_string(name) << ": " << error;
  }
}

TEST_P(In100Digits, TheAdjointPairsWithExtrapolatedDifferenceQuotients) {
  Mpfr::default_precision(220);  // the quotients lose what the step has
  const Pairing x(case_of(GetParam()));
  for (const auto& [name, gradient] : x.gradients) {
    const auto d =
        random_direction(x.gradients, 5, [&, only = name](Name other) { return other == only; });
    const auto error = x.disagreement(difference_quotient(x.problem, x.inputs, d, 6), d);
    EXPECT_TRUE(error <= Mpfr(kAgreement)) << to_string(name) << ": " << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Options, In100Digits, testing::ValuesIn(kOptions));

/// All entries of J^T by the adjoint, a unit cotangent at a time, against those of J by dual numbers,
/// a unit direction at a time.
class WholeJacobian : public In100Digits {};

TEST_P(WholeJacobian, EveryEntryAgrees) {
  Pairing x(case_of(GetParam()));
  Values<Mpfr> largest_of;
  for (const auto& [cotangent, output] : {std::pair{Name::do_, Name::o}, {Name::dht, Name::ht}}) {
    for (auto name : {Name::do_, Name::dht})
      for (auto& value : x.inputs.at(name)) value = 0;
    auto& unit_cotangent = x.inputs.at(cotangent);
    std::vector<Values<Mpfr>> rows;
    for (auto& value : unit_cotangent) {
      value = 1;
      rows.push_back(as_inputs(adjoint(x.problem, x.inputs)));
      value = 0;
    }
    for (const auto& [name, gradient] : x.gradients) {
      Values<Mpfr> direction{{name, std::vector<Mpfr>(gradient.size(), Mpfr(0))}};
      for (std::size_t j = 0; j < gradient.size(); ++j) {
        direction.at(name)[j] = 1;
        const auto column = jvp(x.problem, x.inputs, direction).at(output);
        direction.at(name)[j] = 0;
        for (std::size_t i = 0; i < column.size(); ++i) {
          const Mpfr &by_adjoint = rows[i].at(name)[j], &by_dual = column[i];
          ASSERT_TRUE(abs(by_adjoint - by_dual) <= Mpfr(kAgreement) * (1 + abs(by_dual)))
              << "d " << to_string(output) << "[" << i << "] / d " << to_string(name) << "[" << j
              << "]: " << by_adjoint << " and " << by_dual;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Options, WholeJacobian,
    testing::Values("T=4 K=3 V=2 h0=1", "T=3 H=1 HV=2 K=2 V=2 h0=1 gate=softplus neg_eigval=1",
                    "lens=2,0,1 K=3 V=2 h0=1 layout=vk l2norm=1 gate=lower_bound",
                    "T=4 K=2 V=2 h0=1 recipe=forget"));

TEST(DifferenceQuotient, OfAWrongGradientDisagrees) {
  Mpfr::default_precision(220);
  Pairing x(case_of("T=9 K=5 V=4 h0=1"));
  const auto d = random_direction(x.gradients, 1, [](Name) { return true; });
  x.gradients.at(Name::g)[7] *= Mpfr(1) + Mpfr("1e-70");
  EXPECT_TRUE(x.disagreement(difference_quotient(x.problem, x.inputs, d, 6), d) > Mpfr(kAgreement));
  EXPECT_TRUE(x.disagreement(jvp(x.problem, x.inputs, d), d) > Mpfr(kAgreement));
}

}  // namespace
}  // namespace gdr2
