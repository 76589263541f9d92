// SPDX-License-Identifier: Apache-2.0
#include "reference/format.hpp"

#include "reference/error.hpp"

namespace gdr2 {

std::string_view to_string(Format format) {
  switch (format) {
    case Format::kF64: return "fp64";
    case Format::kF32: return "fp32";
    case Format::kTF32: return "tf32";
    case Format::kBF16: return "bf16";
    case Format::kF16: return "fp16";
    case Format::kNone: break;
  }
  return "none";
}

std::string_view to_string(DType dtype) { return to_string(format_of(dtype)); }

Format parse_format(std::string_view text, std::string_view what) {
  for (auto format : {Format::kF64, Format::kF32, Format::kTF32, Format::kBF16, Format::kF16})
    if (text == to_string(format)) return format;
  fail("{}: '{}' is not one of fp64, fp32, tf32, bf16, fp16", what, text);
}

DType parse_dtype(std::string_view text, std::string_view what) {
  for (auto dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    if (text == to_string(dtype)) return dtype;
  fail("{}: '{}' is not one of fp64, fp32, bf16, fp16", what, text);
}

}  // namespace gdr2
