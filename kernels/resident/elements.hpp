// SPDX-License-Identifier: Apache-2.0
// Elements of two arrays side by side, as plain numbers that a device takes by value, and which of
// them differ. Extents of up to four axes; axes that lie together in both arrays are one
// (kernels/resident/array.cpp), so dense arrays have one and no index is divided.
#pragma once

#include <cstddef>
#include <cstdint>

#include "reference/format.hpp"

#if defined(__CUDACC__)
#define GDR2_ANYWHERE __host__ __device__
#else
#define GDR2_ANYWHERE
#endif

namespace gdr2 {

inline constexpr int kMaxAxes = 4;

struct ElementPairs {
  std::byte *a, *b;
  DType a_dtype, b_dtype;
  int axes;
  std::int64_t extent[kMaxAxes], a_stride[kMaxAxes], b_stride[kMaxAxes];

  GDR2_ANYWHERE std::int64_t count() const {
    std::int64_t n = 1;
    for (int d = 0; d < axes; ++d) n *= extent[d];
    return n;
  }

  /// Offsets, in elements, of the pair with this row-major index.
  struct Place {
    std::int64_t a, b;
  };
  GDR2_ANYWHERE Place place(std::int64_t index) const {
    Place at{0, 0};
    for (int d = axes - 1; d > 0; --d) {
      const std::int64_t i = index % extent[d];
      at.a += i * a_stride[d];
      at.b += i * b_stride[d];
      index /= extent[d];
    }
    return axes == 0 ? at : Place{at.a + index * a_stride[0], at.b + index * b_stride[0]};
  }
};

/// Pairs whose values differ. Zeros of either sign are equal; NaN equals NaN.
struct Mismatches {
  std::int64_t count = 0;
  std::int64_t first = INT64_MAX;  ///< row-major index

  GDR2_ANYWHERE void add(const Mismatches& other) {
    count += other.count;
    if (other.first < first) first = other.first;
  }
};

GDR2_ANYWHERE inline bool same_value(double x, double y) { return x == y || (x != x && y != y); }

}  // namespace gdr2
