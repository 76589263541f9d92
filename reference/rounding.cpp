// SPDX-License-Identifier: Apache-2.0
#include "reference/rounding.hpp"

namespace gdr2 {

std::uint16_t encode_bf16(double x) {
  if (std::isnan(x)) return std::signbit(x) ? 0xFFC0 : 0x7FC0;
  const auto y = static_cast<float>(round_nearest(x, Format::kBF16));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(y) >> 16);
}

double decode_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t encode_f16(double x) {
  const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (std::isnan(x)) return sign | 0x7E00;
  const double a = std::fabs(round_nearest(x, Format::kF16));
  if (std::isinf(a)) return sign | 0x7C00;
  if (a < 0x1p-14) return sign | static_cast<std::uint16_t>(a * 0x1p24);
  const int e = std::ilogb(a);
  const auto fraction = static_cast<std::uint16_t>(std::ldexp(a, 10 - e) - 1024);
  return sign | static_cast<std::uint16_t>((e + 15) << 10) | fraction;
}

double decode_f16(std::uint16_t bits) {
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int e = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  if (e == 31) return fraction ? std::copysign(std::numeric_limits<double>::quiet_NaN(), sign)
                               : sign * std::numeric_limits<double>::infinity();
  if (e == 0) return sign * fraction * 0x1p-24;
  return sign * std::ldexp(1024 + fraction, e - 25);
}

}  // namespace gdr2
