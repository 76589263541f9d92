// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/contract.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

TEST(Contract, OfAFormatKeepsAllButOperandsAtAccumulatorWidth) {
  EXPECT_EQ(to_string(parse_contract("bf16", "x")),
            "operand=bf16 auxiliary=none solve=fp32 state=fp32 gate=fp32 accumulator=fp32 "
            "normalized=none direct_rows=16");
  EXPECT_EQ(parse_contract("fp64", "x"), standard_contract(Format::kF64));
}

TEST(Contract, TakesSitesThatDiffer) {
  auto want = standard_contract(Format::kBF16);
  want.auxiliary = Format::kBF16;
  want.solve = Format::kTF32;
  want.direct_rows = 8;
  EXPECT_EQ(parse_contract("bf16,auxiliary=bf16,solve=tf32,direct_rows=8", "x"), want);
}

TEST(Contract, NamesWhatIsWrong) {
  EXPECT_THROW(parse_contract("", "x"), Error);
  EXPECT_THROW(parse_contract("bf16,", "x"), Error);
  EXPECT_THROW(parse_contract("bf16,auxiliary", "x"), Error);
  EXPECT_THROW(parse_contract("bf16,direct_rows=-1", "x"), Error);
}

}  // namespace
}  // namespace gdr2
