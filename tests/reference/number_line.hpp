// SPDX-License-Identifier: Apache-2.0
// The numbers of a format by roads that share nothing with reference/rounding.hpp: the patterns in
// their order (a neighbour is the next pattern, whatever the exponent does), the grid at a value in
// whole numbers, and doubles to round that spread over the format's range and beyond both ends.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/format.hpp"
#include "tests/reference/draws.hpp"

namespace gdr2 {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr Format kFormats[] = {Format::kF32, Format::kTF32, Format::kBF16, Format::kF16};

inline std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

/// Same value and same sign, zeros included; any NaN equals any NaN.
inline testing::AssertionResult same(double actual, double expected) {
  if (bits_of(actual) == bits_of(expected) || (std::isnan(actual) && std::isnan(expected)))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << std::hexfloat << actual << " is not " << expected;
}

/// The non-negative finite numbers of a format in ascending order: pattern 0 is 0, `count` of them.
/// value(count), the pattern of infinity, is what the next finite number would have been.
struct Patterns {
  Format format;
  int fraction;  // stored significand bits
  std::uint32_t count;

  double value(std::uint32_t pattern) const {
    const FormatTraits f = traits(format);
    const auto exponent = static_cast<int>(pattern >> fraction);
    const auto significand = static_cast<double>(pattern & ((1u << fraction) - 1));
    if (exponent == 0) return std::ldexp(significand, f.min_exponent - fraction);
    return std::ldexp(significand + std::ldexp(1.0, fraction),
                      exponent - 1 + f.min_exponent - fraction);
  }
  double rounded(std::uint32_t pattern) const { return pattern < count ? value(pattern) : kInf; }
};

inline Patterns patterns(Format format) {
  const int fraction = traits(format).precision - 1;
  const int exponents = format == Format::kF16 ? 31 : 255;
  return {format, fraction, static_cast<std::uint32_t>(exponents) << fraction};
}

/// Formats whose every pattern can be visited.
inline constexpr Format kSmall[] = {Format::kTF32, Format::kBF16, Format::kF16};

/// x = m 2^e in whole numbers, |m| < 2^53.
struct Integers {
  std::uint64_t m;
  int e;
};
inline Integers integers_of(double x) {
  const auto bits = bits_of(x);
  const auto exponent = static_cast<int>(bits >> 52 & 0x7FF);
  const auto fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (exponent == 0) return {fraction, -1074};
  return {fraction | std::uint64_t{1} << 52, exponent - 1075};
}

/// |x| as `whole` steps of the format's grid at x, and the bits below it.
struct Grid {
  std::uint64_t whole, rest;
  int drop;  // rest < 2^drop
  double step;
};
inline Grid grid_of(double x, Format format) {
  const FormatTraits f = traits(format);
  const auto [m, e] = integers_of(x);
  const int lead = e + 63 - std::countl_zero(m | 1);
  const int step = std::max(lead, f.min_exponent) - f.precision + 1;
  const int drop = std::min(step - e, 62);  // |m| < 2^53: beyond, all is rest
  if (drop <= 0) return {m << -drop, 0, 0, std::ldexp(1.0, step)};
  return {m >> drop, m & ((std::uint64_t{1} << drop) - 1), drop, std::ldexp(1.0, step)};
}

inline double on_grid(std::uint64_t whole, double step, double sign, Format format) {
  const double y = static_cast<double>(whole) * step;
  const double limit = std::ldexp(1.0, traits(format).max_exponent + 1);
  return std::copysign(y >= limit ? kInf : y, sign);
}

/// A double whose exponent spreads over the format's range and well beyond both ends; one in four
/// lies on a tie of the format's grid or one ulp from it.
inline double draw_double(Format format, std::uint64_t index) {
  const FormatTraits f = traits(format);
  const auto bits = draws::bits(1, std::uint64_t(format), index);
  const int low = f.min_exponent - f.precision - 3, high = f.max_exponent + 2;
  const int exponent = low + static_cast<int>(bits % std::uint64_t(high - low + 1));
  auto fraction = draws::bits(2, std::uint64_t(format), index) >> 12;
  if (bits >> 62 == 0) {
    const int drop = 53 - f.precision + std::max(0, f.min_exponent - exponent);
    if (drop <= 52) {
      fraction = (fraction >> drop << drop) + (std::uint64_t{1} << (drop - 1));
      fraction += (bits >> 40) % 3 - 1;
    }
  }
  fraction &= (std::uint64_t{1} << 52) - 1;
  const double sign = bits >> 61 & 1 ? -1 : 1;
  return sign * std::ldexp(1.0 + static_cast<double>(fraction) * 0x1p-52, exponent);
}

}  // namespace gdr2
