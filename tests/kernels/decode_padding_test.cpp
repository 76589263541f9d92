// SPDX-License-Identifier: Apache-2.0
// Padding beside the rows of a decode call: its o must be zero, and the rows must not notice it.
#include "kernels/abi/decode_padding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fixtures/case.hpp"
#include "kernels/fault.hpp"

namespace gdr2 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Decode {
  Problem problem = parse_problem("B=2 T=1 K=4 V=4 h0=1 pass=fwd view=padded");
  Tensors inputs = make_inputs(Case{problem});
  Tensors alone = outputs_of(problem, 0);
  PaddedRows rows = between_padding(problem, inputs, {3, 1});

  static Tensors outputs_of(const Problem& p, std::int64_t skipped) {
    Tensors out;
    out[Name::o] = Tensor(dtype_of(p, Name::o), shape_of(p, Name::o));
    const auto row = out[Name::o].size() / p.B;
    for (std::int64_t i = 0; i < out[Name::o].size(); ++i) {
      const bool padding = skipped > 0 && (i / row < skipped || i / row >= p.B - skipped);
      out[Name::o].set(i, padding ? 0 : double(i - skipped * row + 1));
    }
    return out;
  }
  /// What a right kernel answers.
  void answer() { rows.outputs[Name::o].assign(outputs_of(rows.problem, 1)[Name::o].to_doubles()); }
  std::string fault() const {
    try {
      check_between_padding(rows, alone);
    } catch (const KernelFault& fault) {
      EXPECT_EQ(fault.kind(), KernelFault::Kind::kWrong);
      return fault.what();
    }
    return "";
  }
};

TEST(DecodePadding, SurroundsTheRowsWithNaN) {
  const Decode d;
  EXPECT_EQ(d.rows.problem.B, 4);
  EXPECT_THAT(d.rows.slots, ElementsAre(-1, 3, 1, testing::Lt(0)));
  const auto &q = d.rows.inputs.at(Name::q), &given = d.inputs.at(Name::q);
  const auto row = given.size() / 2;
  for (std::int64_t i = 0; i < row; ++i) {
    EXPECT_TRUE(std::isnan(q.get(i)));
    EXPECT_EQ(q.get(row + i), given.get(i));
    EXPECT_EQ(q.get(2 * row + i), given.get(row + i));
    EXPECT_TRUE(std::isnan(q.get(3 * row + i)));
  }
}

TEST(DecodePadding, PassesZerosBesideUnchangedRows) {
  Decode d;
  d.answer();
  EXPECT_EQ(d.fault(), "");
}

TEST(DecodePadding, AnOutputThatIsNotWrittenIsNamed) {
  const Decode d;
  EXPECT_THAT(d.fault(), HasSubstr("nan at element 0; the row is padding"));
}

TEST(DecodePadding, ARowThatNoticesItIsNamed) {
  Decode d;
  d.answer();
  const auto row = d.rows.outputs[Name::o].size() / 4;
  d.rows.outputs[Name::o].set(2 * row + 1, 99);
  EXPECT_THAT(d.fault(), HasSubstr("o of row 2 is"));
}

}  // namespace
}  // namespace gdr2
