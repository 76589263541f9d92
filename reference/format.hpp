// SPDX-License-Identifier: Apache-2.0
// Number formats: what a value may be rounded to (Format) and how a tensor is stored (DType).
// tf32 is a format of matrix operands only; a tf32 problem stores fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gdr2 {

/// A rounding target. kNone: the value is not rounded at all. Values as in kernels/abi.
enum class Format : std::int32_t { kNone = 0, kF64 = 1, kF32 = 2, kTF32 = 3, kBF16 = 4, kF16 = 5 };

/// Storage of a tensor element. Values as in kernels/abi.
enum class DType : std::int32_t { kF64 = 0, kF32 = 1, kBF16 = 2, kF16 = 3 };

/// IEEE 754 parameters of a format: value = m * 2^e with |m| of `precision` bits (hidden one included).
struct FormatTraits {
  int precision;     ///< significand bits, hidden bit included
  int min_exponent;  ///< exponent of the smallest normal number, 2^min_exponent
  int max_exponent;  ///< largest finite value is (2 - 2^(1-precision)) 2^max_exponent
};

constexpr FormatTraits traits(Format format) {
  switch (format) {
    case Format::kF32: return {24, -126, 127};
    case Format::kTF32: return {11, -126, 127};
    case Format::kBF16: return {8, -126, 127};
    case Format::kF16: return {11, -14, 15};
    case Format::kF64:
    case Format::kNone: break;
  }
  return {53, -1022, 1023};
}

constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 8;
    case DType::kF32: return 4;
    case DType::kBF16:
    case DType::kF16: break;
  }
  return 2;
}

/// The storage that holds every value of a format.
constexpr DType storage_of(Format format) {
  switch (format) {
    case Format::kF32:
    case Format::kTF32: return DType::kF32;
    case Format::kBF16: return DType::kBF16;
    case Format::kF16: return DType::kF16;
    case Format::kF64:
    case Format::kNone: break;
  }
  return DType::kF64;
}

constexpr Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return Format::kF32;
    case DType::kBF16: return Format::kBF16;
    case DType::kF16: return Format::kF16;
    case DType::kF64: break;
  }
  return Format::kF64;
}

/// "fp64", "fp32", "tf32", "bf16", "fp16"; "none".
std::string_view to_string(Format format);
std::string_view to_string(DType dtype);

/// Inverse of to_string; throws Error naming `what` and the accepted words.
Format parse_format(std::string_view text, std::string_view what);
DType parse_dtype(std::string_view text, std::string_view what);

}  // namespace gdr2
