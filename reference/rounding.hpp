// SPDX-License-Identifier: Apache-2.0
// Rounding of doubles to the formats kernels compute in: to nearest even, and stochastically.
// Results are doubles that the target format holds exactly. Subnormals, overflow to infinity, NaN
// and signed zeros follow IEEE 754; NaN stays NaN. Nothing here depends on the rounding mode.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/format.hpp"

namespace gdr2 {

namespace rounding {

/// 2^e as a double, for e in [-1074, 1023].
constexpr double exp2i(int e) {
  if (e >= -1022) return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
  return std::bit_cast<double>(std::uint64_t{1} << (e + 1074));
}

/// Largest finite value of the format.
constexpr double largest(FormatTraits f) {
  return exp2i(f.max_exponent) * (2.0 - exp2i(1 - f.precision));
}

/// x with `drop` low significand bits cut after adding `add` to them. A carry into the exponent is
/// the right answer: the significand rolled over to the next power of two.
inline double cut(double x, int drop, std::uint64_t add) {
  const auto mask = (std::uint64_t{1} << drop) - 1;
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) + add) & ~mask);
}

/// Distance between the subnormal numbers of the format.
constexpr double quantum(FormatTraits f) { return exp2i(f.min_exponent - f.precision + 1); }

/// |x| below the smallest normal number, in quanta: a whole count and a rest in [0, 1). Both are
/// exact, since the division is by a power of two.
struct Quanta {
  std::uint64_t whole;
  double rest;
};
inline Quanta count_quanta(double x, FormatTraits f) {
  const double quanta = std::fabs(x) / quantum(f);
  const auto whole = static_cast<std::uint64_t>(quanta);
  return {whole, quanta - static_cast<double>(whole)};
}

}  // namespace rounding

/// x rounded to the nearest value of the format, ties to even.
inline double round_nearest(double x, Format format) {
  if (format == Format::kNone || format == Format::kF64 || !std::isfinite(x)) return x;
  const FormatTraits f = traits(format);
  if (std::fabs(x) < rounding::exp2i(f.min_exponent)) {
    const auto [whole, rest] = rounding::count_quanta(x, f);
    const bool up = rest > 0.5 || (rest == 0.5 && whole % 2 == 1);
    return std::copysign(static_cast<double>(whole + up) * rounding::quantum(f), x);
  }
  const int drop = 53 - f.precision;
  const auto half = (std::uint64_t{1} << (drop - 1)) - 1;
  const auto odd = (std::bit_cast<std::uint64_t>(x) >> drop) & 1;
  const double y = rounding::cut(x, drop, half + odd);
  return std::fabs(y) > rounding::largest(f)
             ? std::copysign(std::numeric_limits<double>::infinity(), x)
             : y;
}

/// x rounded up or down in magnitude with probability proportional to the distance, driven by 32
/// uniform bits. Exact values stay. E[result] = x inside the finite range (to 2^-32 of an ulp).
inline double round_stochastic(double x, Format format, std::uint32_t bits) {
  if (format == Format::kNone || format == Format::kF64 || !std::isfinite(x)) return x;
  const FormatTraits f = traits(format);
  if (std::fabs(x) < rounding::exp2i(f.min_exponent)) {
    const auto [whole, rest] = rounding::count_quanta(x, f);
    const auto up = (static_cast<std::uint64_t>(rest * 0x1p32) + bits) >> 32;
    return std::copysign(static_cast<double>(whole + up) * rounding::quantum(f), x);
  }
  const int drop = 53 - f.precision;
  const auto add = drop >= 32 ? std::uint64_t{bits} << (drop - 32) : bits >> (32 - drop);
  const double y = rounding::cut(x, drop, add);
  return std::fabs(y) > rounding::largest(f)
             ? std::copysign(std::numeric_limits<double>::infinity(), x)
             : y;
}

/// The same two for a format known at compile time, for the inner loops of the emulator: numbers well
/// inside the normal range take a short path.
template <Format format>
[[gnu::always_inline]] inline bool is_plain(double x) {
  constexpr FormatTraits f = traits(format);
  const int e = int(std::bit_cast<std::uint64_t>(x) >> 52 & 2047) - 1023;
  return e >= f.min_exponent && e < f.max_exponent;
}

template <Format format>
[[gnu::always_inline]] inline double round_nearest_to(double x) {
  constexpr int drop = 53 - traits(format).precision;
  if (!is_plain<format>(x)) return round_nearest(x, format);
  const auto odd = (std::bit_cast<std::uint64_t>(x) >> drop) & 1;
  return rounding::cut(x, drop, (std::uint64_t{1} << (drop - 1)) - 1 + odd);
}

template <Format format>
[[gnu::always_inline]] inline double round_stochastic_to(double x, std::uint32_t bits) {
  constexpr int drop = 53 - traits(format).precision;
  if (!is_plain<format>(x)) return x == 0 ? x : round_stochastic(x, format, bits);
  if constexpr (drop >= 32) return rounding::cut(x, drop, std::uint64_t{bits} << (drop - 32));
  else return rounding::cut(x, drop, bits >> (32 - drop));
}

/// body<format>() for a format that rounds doubles, known only at run time.
template <class Body>
void with_format(Format format, const Body& body) {
  switch (format) {
    case Format::kBF16: return body.template operator()<Format::kBF16>();
    case Format::kF16: return body.template operator()<Format::kF16>();
    case Format::kTF32: return body.template operator()<Format::kTF32>();
    case Format::kF32: return body.template operator()<Format::kF32>();
    case Format::kF64:
    case Format::kNone: return;
  }
}

/// Distance between neighbours of the format at |x| (the quantum of x's binade; the smallest
/// subnormal at 0). Infinite for NaN and for x that rounds to infinity.
inline double ulp(double x, Format format) {
  const FormatTraits f = traits(format);
  if (!std::isfinite(round_nearest(x, format))) return std::numeric_limits<double>::infinity();
  const double a = std::fabs(x);
  const int e = a < rounding::exp2i(f.min_exponent) ? f.min_exponent : std::ilogb(a);
  return rounding::exp2i(e - f.precision + 1);
}

/// Bits of the 16-bit formats. `encode` rounds to nearest even; NaN becomes a quiet NaN.
std::uint16_t encode_bf16(double x);
std::uint16_t encode_f16(double x);
double decode_bf16(std::uint16_t bits);
double decode_f16(std::uint16_t bits);

}  // namespace gdr2
