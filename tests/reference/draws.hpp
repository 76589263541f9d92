// SPDX-License-Identifier: Apache-2.0
// Numbers for tests, a function of (seed, stream, index) alone: the same on every machine and in
// any order of asking.
#pragma once

#include <cstdint>

namespace gdr2::draws {

/// 64 uniform bits (the finaliser of SplitMix64, Steele et al. 2014, over a Weyl sequence).
inline std::uint64_t bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto mix = [](std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  const std::uint64_t key = mix(mix(seed + 0x9E3779B97F4A7C15u) + stream);
  return mix(key + (index + 1) * 0x9E3779B97F4A7C15u);
}

/// Uniform in [low, high), a multiple of 2^-53 of the range.
inline double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index, double low,
                      double high) {
  return low + (high - low) * static_cast<double>(bits(seed, stream, index) >> 11) * 0x1p-53;
}

}  // namespace gdr2::draws
