// SPDX-License-Identifier: Apache-2.0
// Rounding to nearest against the patterns of each format in their order, the compiler's own float
// and _Float16, and a rounding in integers.
#include "reference/rounding.hpp"

#include <cfenv>

#include "tests/reference/number_line.hpp"

namespace gdr2 {
namespace {

double nearest_in_integers(double x, Format format) {
  const Grid g = grid_of(x, format);
  if (g.drop == 0) return on_grid(g.whole, g.step, x, format);
  const auto half = std::uint64_t{1} << (g.drop - 1);
  const bool up = g.rest > half || (g.rest == half && g.whole % 2 == 1);
  return on_grid(g.whole + up, g.step, x, format);
}

template <class Encode, class Decode>
void every_pattern_decodes_and_encodes(Format format, Encode encode, Decode decode) {
  const auto p = patterns(format);
  for (std::uint32_t bits = 0; bits < 0x8000; ++bits)
    for (std::uint32_t sign : {0u, 0x8000u}) {
      const double x = decode(bits | sign);
      if (bits <= p.count) {
        ASSERT_TRUE(same(x, std::copysign(p.rounded(bits), sign ? -1 : 1))) << bits;
        ASSERT_EQ(encode(x), bits | sign);
      } else {
        ASSERT_TRUE(std::isnan(x)) << bits;
        ASSERT_TRUE(std::isnan(decode(encode(x)))) << bits;
        ASSERT_EQ(encode(x) & 0x8000, sign);
      }
    }
}

TEST(Rounding, EveryPatternDecodesToItsValueAndBack) {
  every_pattern_decodes_and_encodes(Format::kBF16, encode_bf16, decode_bf16);
  every_pattern_decodes_and_encodes(Format::kF16, encode_f16, decode_f16);
}

TEST(Rounding, EveryPatternRoundsToItself) {
  for (auto format : kSmall) {
    const auto p = patterns(format);
    for (std::uint32_t i = 0; i < p.count; ++i)
      for (double x : {p.value(i), -p.value(i)})
        ASSERT_TRUE(same(round_nearest(x, format), x)) << to_string(format);
  }
}

TEST(Rounding, BetweenEveryTwoNeighboursTheMidpointGoesToTheEvenOne) {
  for (auto format : kSmall) {
    const auto p = patterns(format);
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const double middle = (p.value(i) + p.value(i + 1)) / 2;
      const double even = p.rounded(i % 2 == 0 ? i : i + 1);
      ASSERT_TRUE(same(round_nearest(middle, format), even)) << to_string(format);
      ASSERT_TRUE(same(round_nearest(-middle, format), -even)) << to_string(format);
    }
  }
}

TEST(Rounding, OneUlpOfDoubleBesideEveryMidpointDecides) {
  for (auto format : kSmall) {
    const auto p = patterns(format);
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const double middle = (p.value(i) + p.value(i + 1)) / 2;
      const double below = std::nextafter(middle, 0), above = std::nextafter(middle, kInf);
      ASSERT_TRUE(same(round_nearest(below, format), p.value(i))) << to_string(format);
      ASSERT_TRUE(same(round_nearest(-below, format), -p.value(i))) << to_string(format);
      ASSERT_TRUE(same(round_nearest(above, format), p.rounded(i + 1))) << to_string(format);
      ASSERT_TRUE(same(round_nearest(-above, format), -p.rounded(i + 1))) << to_string(format);
    }
  }
}

TEST(Rounding, EncodingRoundsBetweenEveryTwoNeighbours) {
  const auto check = [](Format format, auto encode) {
    const auto p = patterns(format);
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const double middle = (p.value(i) + p.value(i + 1)) / 2;
      ASSERT_EQ(encode(middle), i % 2 == 0 ? i : i + 1);
      ASSERT_EQ(encode(std::nextafter(middle, 0)), i);
      ASSERT_EQ(encode(-std::nextafter(middle, kInf)), (i + 1) | 0x8000);
    }
  };
  check(Format::kBF16, encode_bf16);
  check(Format::kF16, encode_f16);
}

TEST(Rounding, ValuesBeyondTheOverflowThresholdAreInfinite) {
  for (auto format : kFormats) {
    const auto p = patterns(format);
    const double largest = p.value(p.count - 1), threshold = (largest + p.value(p.count)) / 2;
    EXPECT_TRUE(same(round_nearest(std::nextafter(threshold, 0), format), largest));
    for (double x : {threshold, 2 * threshold, 0x1p200, 0x1.fffffffffffffp1023, kInf}) {
      EXPECT_TRUE(same(round_nearest(x, format), kInf)) << to_string(format);
      EXPECT_TRUE(same(round_nearest(-x, format), -kInf)) << to_string(format);
    }
  }
}

TEST(Rounding, NanInfinityAndSignedZerosStay) {
  for (auto format : kFormats) {
    EXPECT_TRUE(std::isnan(round_nearest(kNaN, format)));
    for (double x : {0.0, -0.0, kInf, -kInf}) EXPECT_TRUE(same(round_nearest(x, format), x));
  }
}

TEST(Rounding, TheSmallestDoublesRoundToASignedZero) {
  for (auto format : kFormats)
    for (double x : {0x1p-1074, 0x1p-1022, 0x1p-200}) {
      EXPECT_TRUE(same(round_nearest(x, format), 0.0));
      EXPECT_TRUE(same(round_nearest(-x, format), -0.0));
    }
}

TEST(Rounding, WithoutAFormatOrToFp64NothingChanges) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double x = std::bit_cast<double>(draws::bits(3, 0, i));
    for (auto format : {Format::kNone, Format::kF64})
      EXPECT_TRUE(same(round_nearest(x, format), x));
  }
}

TEST(Rounding, ToFp32IsTheHardwareCast) {
  for (std::uint64_t i = 0; i < 4'000'000; ++i) {
    const double x = draw_double(Format::kF32, i);
    ASSERT_TRUE(same(round_nearest(x, Format::kF32), static_cast<float>(x))) << std::hexfloat << x;
  }
}

TEST(Rounding, AnyFp32PatternIsExact) {
  for (std::uint64_t i = 0; i < 4'000'000; ++i) {
    // Every other pattern is subnormal.
    auto pattern = static_cast<std::uint32_t>(draws::bits(4, 0, i));
    if (i % 2 == 0) pattern &= 0x807FFFFF;
    const double x = std::bit_cast<float>(pattern);
    ASSERT_TRUE(same(round_nearest(x, Format::kF32), x)) << pattern;
  }
}

#ifdef __FLT16_MAX__
TEST(Rounding, ToFp16IsTheCompilersCast) {
  for (std::uint64_t i = 0; i < 1'000'000; ++i) {
    const double x = draw_double(Format::kF16, i);
    const auto expected = static_cast<_Float16>(x);
    ASSERT_TRUE(same(round_nearest(x, Format::kF16), static_cast<double>(expected)))
        << std::hexfloat << x;
    ASSERT_EQ(encode_f16(x), std::bit_cast<std::uint16_t>(expected)) << std::hexfloat << x;
  }
}
#else
TEST(Rounding, ToFp16IsTheCompilersCast) { GTEST_SKIP() << "the compiler has no _Float16"; }
#endif

TEST(Rounding, AgreesWithRoundingInIntegers) {
  for (auto format : kFormats)
    for (std::uint64_t i = 0; i < 1'000'000; ++i) {
      const double x = draw_double(format, i);
      ASSERT_TRUE(same(round_nearest(x, format), nearest_in_integers(x, format)))
          << to_string(format) << " of " << std::hexfloat << x;
    }
}

TEST(Rounding, DoesNotDependOnTheRoundingMode) {
  // Encoding is compiled elsewhere, so no arithmetic of it can move across fesetround.
  for (double x :
       {1 + 0x1p-8, 1 + 0x3p-8, 0x2.8p-133, 0x3.8p-133, 0x0.6p-133, 0x2.8p-24, 0x0.6p-24})
    for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      const auto bf16 = encode_bf16(-x), f16 = encode_f16(-x);
      std::fesetround(mode);
      const auto bf16_in_mode = encode_bf16(-x), f16_in_mode = encode_f16(-x);
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(bf16_in_mode, bf16);
      EXPECT_EQ(f16_in_mode, f16);
    }
}

TEST(Ulp, IsTheDistanceToTheNextNumberForEveryPattern) {
  for (auto format : kSmall) {
    const auto p = patterns(format);
    for (std::uint32_t i = 0; i < p.count; ++i) {
      const double distance = p.value(i + 1) - p.value(i);
      ASSERT_EQ(ulp(p.value(i), format), distance) << to_string(format) << " pattern " << i;
      ASSERT_EQ(ulp(-p.value(i), format), distance) << to_string(format) << " pattern " << i;
    }
  }
}

TEST(Ulp, OfAValueBetweenNumbersIsThatOfItsBinade) {
  EXPECT_EQ(ulp(1.9999999, Format::kBF16), 0x1p-7);
  EXPECT_EQ(ulp(1e-300, Format::kBF16), 0x1p-133);
  EXPECT_EQ(ulp(3.3f, Format::kF32), 0x1p-22);
  EXPECT_EQ(ulp(65510.0, Format::kF16), 32);  // rounds to 65504, not to infinity
}

TEST(Ulp, OfADoubleIsTheDoubleAfterIt) {
  for (double x : {0.0, 0x1p-1074, 0x1p-1022, 1.0, 1.5, 0x1.8p1000})
    for (auto format : {Format::kF64, Format::kNone})
      EXPECT_EQ(ulp(x, format), std::nextafter(x, kInf) - x);
}

TEST(Ulp, IsInfiniteWhereTheValueOverflowsOrIsNone) {
  EXPECT_EQ(ulp(65520.0, Format::kF16), kInf);
  EXPECT_EQ(ulp(-0x1p128, Format::kBF16), kInf);
  EXPECT_EQ(ulp(kInf, Format::kF64), kInf);
  EXPECT_EQ(ulp(kNaN, Format::kF32), kInf);
}

}  // namespace
}  // namespace gdr2
