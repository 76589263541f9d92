// SPDX-License-Identifier: Apache-2.0
// Stochastic rounding against integers: which draws go up, and that their mean is the value.
#include <gtest/gtest.h>

#include "reference/rounding.hpp"
#include "tests/reference/number_line.hpp"

namespace gdr2 {
namespace {

constexpr std::uint32_t kTop = 0xFFFFFFFF;  // the largest draw

TEST(StochasticRounding, EveryPatternStays) {
  for (auto format : kSmall) {
    const auto p = patterns(format);
    for (std::uint32_t i = 0; i < p.count; ++i)
      for (std::uint32_t bits : {0u, 1u, 0x80000000u, kTop}) {
        ASSERT_TRUE(same(round_stochastic(p.value(i), format, bits), p.value(i))) << i;
        ASSERT_TRUE(same(round_stochastic(-p.value(i), format, bits), -p.value(i))) << i;
      }
  }
}

TEST(StochasticRounding, NanInfinityAndSignedZerosStay) {
  for (auto format : kFormats) {
    EXPECT_TRUE(std::isnan(round_stochastic(-kNaN, format, kTop)));
    for (double x : {0.0, -0.0, kInf, -kInf})
      EXPECT_TRUE(same(round_stochastic(x, format, kTop), x));
    EXPECT_TRUE(same(round_stochastic(-0x1p-1074, format, kTop), -0.0));
  }
}

TEST(StochasticRounding, WithoutAFormatOrToFp64NothingChanges) {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double x = std::bit_cast<double>(draws::bits(3, 0, i));
    for (auto format : {Format::kNone, Format::kF64})
      EXPECT_TRUE(same(round_stochastic(x, format, kTop), x));
  }
}

TEST(StochasticRounding, GoesUpExactlyWhenDrawAndRestReachOne) {
  for (auto format : kFormats)
    for (std::uint64_t i = 0; i < 300'000; ++i) {
      const double x = draw_double(format, i);
      const Grid g = grid_of(x, format);
      const auto bits = static_cast<std::uint32_t>(draws::bits(5, std::uint64_t(format), i));
      // rest / 2^drop in units of 2^-32, rounded down
      const auto rest = g.drop > 32 ? g.rest >> (g.drop - 32) : g.rest << (32 - g.drop);
      const bool up = rest + bits >= std::uint64_t{1} << 32;
      ASSERT_TRUE(same(round_stochastic(x, format, bits), on_grid(g.whole + up, g.step, x, format)))
          << to_string(format) << " of " << std::hexfloat << x;
    }
}

TEST(StochasticRounding, TheMeanOverAllDrawsIsTheValue) {
  // x lies j / 2^16 of the way to the next number; of 2^16 evenly spaced draws exactly j go up.
  for (auto format : kFormats) {
    const auto p = patterns(format);
    const std::uint32_t one = static_cast<std::uint32_t>(1 - traits(format).min_exponent)
                              << p.fraction;
    // 0, a subnormal, the last subnormal, the first normal, 1.0, the number below 2, some others
    for (std::uint32_t i : {0u, 5u, (1u << p.fraction) - 1, 1u << p.fraction, one,
                            one + (1u << p.fraction) - 1, p.count / 3, p.count - 2})
      for (std::uint32_t j : {0u, 1u, 12345u, 32768u, 65535u}) {
        const double low = p.value(i), high = p.value(i + 1);
        const double x = low + (high - low) * j * 0x1p-16;
        std::uint32_t ups = 0, downs = 0;
        for (std::uint64_t top = 0; top < 65536; ++top) {
          const double y = round_stochastic(-x, format, static_cast<std::uint32_t>(top << 16));
          ups += y == -high;
          downs += y == -low;
        }
        ASSERT_EQ(ups, j) << to_string(format) << " pattern " << i;
        ASSERT_EQ(downs, 65536 - j) << to_string(format) << " pattern " << i;
      }
  }
}

TEST(StochasticRounding, ExactSubnormalsStayForTheLargestDraw) {
  for (std::uint32_t pattern : {1u, (1u << 21) + 1, (1u << 22) + 1, (1u << 23) - 1}) {
    const double x = std::bit_cast<float>(pattern);
    EXPECT_TRUE(same(round_stochastic(x, Format::kF32, kTop), x)) << pattern;
  }
}

TEST(StochasticRounding, AboveTheLargestNumberItGoesThereOrToInfinity) {
  for (auto format : kFormats) {
    const auto p = patterns(format);
    const double largest = p.value(p.count - 1), next = p.value(p.count);
    const double x = largest + (next - largest) / 4;
    EXPECT_TRUE(same(round_stochastic(x, format, 0), largest));
    EXPECT_TRUE(same(round_stochastic(x, format, 0xBFFFFFFF), largest));
    EXPECT_TRUE(same(round_stochastic(x, format, 0xC0000000), kInf));
    EXPECT_TRUE(same(round_stochastic(-x, format, kTop), -kInf));
    EXPECT_TRUE(same(round_stochastic(next, format, 0), kInf));
  }
}

}  // namespace
}  // namespace gdr2
