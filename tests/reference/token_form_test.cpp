// SPDX-License-Identifier: Apache-2.0
// The rounded token recurrence is the definition when nothing rounds.
#include <gtest/gtest.h>

#include "reference/run.hpp"
#include "reference/token_form.hpp"
#include "tests/reference/draws.hpp"

namespace gdr2 {
namespace {

TEST(TokenForm, IsTheDefinitionInExactArithmetic) {
  const auto p = parse_problem("T=19 K=4 V=3 HV=2 dtype=fp64 h0=1");
  Values<Digits100> in;
  for (auto name : input_names(p)) {
    auto& x = in[name];
    for (std::int64_t i = 0; i < element_count(shape_of(p, name)); ++i)
      x.push_back(name == Name::g ? draws::uniform(5, int(name), i, -1, 0)
                                  : draws::uniform(5, int(name), i, -0.7, 0.7));
  }
  const Exact<Digits100> ar;
  auto got = run_forward(p, in, ar, RoundedTokenRule());
  got.merge(run_backward(p, in, ar, RoundedTokenRule()));
  for (const auto& [name, want] : reference<Digits100>(p, in))
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_LE(abs(Digits100(got.at(name)[i] - want[i])), Digits100("1e-95")) << to_string(name);
}

}  // namespace
}  // namespace gdr2
