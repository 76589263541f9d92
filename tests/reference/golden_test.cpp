// SPDX-License-Identifier: Apache-2.0
// The reference against values that were made without it: 60 digits of every output and gradient.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/run.hpp"

namespace gdr2 {
namespace {

using nlohmann::json;

Problem problem_of(const json& c) {
  Problem p;
  p.lens = c["lens"].get<std::vector<std::int64_t>>();
  p.T = std::accumulate(p.lens.begin(), p.lens.end(), std::int64_t{0});
  p.H = c["H"], p.HV = c["HV"], p.K = c["K"], p.V = c["V"];
  p.dtype = Format::kF64;
  p.g_dtype = DType::kF64;
  const std::string scale = c["scale"];
  if (scale.size() < 20) p.scale = std::stod(scale);  // else K^-1/2, which the reference forms itself
  p.l2norm = c["l2norm"];
  p.neg_eigval = c["neg_eigval"];
  const std::string gate = c["gate"];
  p.gate = gate == "log" ? Gate::kLog : gate == "softplus" ? Gate::kSoftplus : Gate::kLowerBound;
  if (!c["lower_bound"].is_null()) p.lower_bound = c["lower_bound"];
  p.h0 = c["inputs"].contains("h0");
  const bool d_o = c["inputs"].contains("do"), dht = c["inputs"].contains("dht");
  p.loss = d_o && dht ? Loss::kBoth : d_o ? Loss::kO : Loss::kHt;
  return p;
}

double leaf_value(const json& leaf, double) {
  return leaf.is_string() ? std::stod(leaf.get<std::string>()) : leaf.get<double>();
}
Digits100 leaf_value(const json& leaf, const Digits100&) {
  return leaf.is_string() && leaf != "-inf" ? Digits100(leaf.get<std::string>())
                                            : Digits100(leaf_value(leaf, 0.0));
}

template <class Real>
void flatten(const json& nested, std::vector<Real>& out) {
  if (!nested.is_array()) return out.push_back(leaf_value(nested, Real()));
  for (const auto& item : nested) flatten(item, out);
}

template <class Real>
Values<Real> values_of(const json& tensors) {
  Values<Real> values;
  for (const auto& [key, nested] : tensors.items()) flatten(nested, values[find_name(key).value()]);
  return values;
}

template <class Real>
class Golden : public testing::Test {};
using Reals = testing::Types<double, Digits100>;
TYPED_TEST_SUITE(Golden, Reals);

/// 100 digits: all that the file gives (60 digits, differences exact to about 1e-57).
/// double: a handful of roundings of values below about 10.
template <class Real>
Real tolerance() {
  if constexpr (std::is_same_v<Real, double>) return 1e-14;
  else return Real("1e-55");
}

TYPED_TEST(Golden, TheReferenceGivesEveryOutputAndGradient) {
  const auto file = json::parse(std::ifstream(GDR2_SOURCE_DIR "/tests/golden/cases.json"));
  ASSERT_EQ(file["cases"].size(), 21u);
  for (const auto& c : file["cases"]) {
    SCOPED_TRACE(c["name"].get<std::string>());
    const auto problem = problem_of(c);
    const auto got = reference<TypeParam>(problem, values_of<TypeParam>(c["inputs"]));
    for (const auto& [name, want] : values_of<TypeParam>(c["expected"])) {
      SCOPED_TRACE(to_string(name));
      ASSERT_TRUE(got.contains(name));
      const auto& value = got.at(name);
      ASSERT_EQ(value.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        using std::abs;
        const TypeParam error = abs(TypeParam(value[i] - want[i]));
        const TypeParam size = abs(want[i]);
        ASSERT_TRUE(error <= tolerance<TypeParam>() * (1 + size)) << i << " " << error;
      }
    }
  }
}

}  // namespace
}  // namespace gdr2
