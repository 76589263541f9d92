// SPDX-License-Identifier: Apache-2.0
// Cases nobody wrote down: sizes, sequences, options and recipe drawn together (RapidCheck), the edges
// of chunks and tiles more often than what lies between; and, for one case in four, tensors with
// numbers of any bit pattern in them. The n-th case of a seed is always the same.
#pragma once

#include <cstdint>
#include <vector>

#include "fixtures/case.hpp"

namespace gdr2::search {

Case draw_case(std::uint64_t seed, std::int64_t number, const std::vector<Format>& dtypes);

/// A number of the dtype from random bits: its exponent uniform in low .. high (powers of two), its
/// significand one of all zeros, all ones, one bit, or random. A zero now and then.
double bit_pattern(std::uint64_t bits, DType dtype, int low, int high);

/// The case with some elements of some inputs replaced by bit patterns, inside each input's domain
/// (g <= 0, gates in [0, 1]) and so small that fp16 does not overflow.
Case with_bit_patterns(const Case& c, std::uint64_t seed);

}  // namespace gdr2::search
