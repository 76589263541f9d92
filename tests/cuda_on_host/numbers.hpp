// SPDX-License-Identifier: Apache-2.0
// bf16, fp16 and tf32 as the GPU converts them: to nearest, ties to even (tf32: ties away from
// zero), overflow to infinity, NaN to NaN.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace gdr2::cuda::on_host {

inline uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
inline float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

inline float float_from_bf16(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16); }

inline uint16_t bf16_from_float(float x) {
  if (std::isnan(x)) return 0x7fff;
  const uint32_t bits = bits_of(x);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float float_from_fp16(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  return float_of(sign | bits_of(float_of(magnitude << 13) * 0x1p112f));
}

inline uint16_t fp16_from_float(float x) {
  if (std::isnan(x)) return 0x7fff;
  const uint32_t bits = bits_of(x), magnitude = bits & 0x7fffffffu;
  const uint16_t sign = static_cast<uint16_t>((bits & 0x80000000u) >> 16);
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and up
  if (magnitude < 0x38800000u) {                        // below 2^-14: multiples of 2^-24
    return sign | static_cast<uint16_t>(std::nearbyint(float_of(magnitude) * 0x1p24f));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

inline float tf32_from_float(float x) {
  if (!std::isfinite(x)) return x;
  return float_of((bits_of(x) + 0x1000u) & 0xffffe000u);
}

}  // namespace gdr2::cuda::on_host
