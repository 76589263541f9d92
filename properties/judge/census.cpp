// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/census.hpp"

#include <cmath>

#include "reference/rounding.hpp"

namespace gdr2 {
namespace {

constexpr double kCancelled = 0x1p10;  // roundings of an operand: over 10 bits lost

}  // namespace

Census take_census(DType dtype, const Contract& contract, std::span<const double> value,
                   std::span<const double> reference, std::span<const double> sigma) {
  const auto stored = traits(format_of(dtype));
  const double smallest = rounding::exp2i(stored.min_exponent), top = rounding::largest(stored);
  const double unit = rounding::exp2i(-traits(contract.operand).precision);
  Census census;
  double largest = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const double x = std::fabs(value[i]), y = std::fabs(reference[i]);
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    largest = std::max(largest, x);
    census.subnormal += x > 0 && x < smallest;
    census.flushed += x == 0 && round_nearest(y, format_of(dtype)) != 0;
    census.cancelled += sigma[i] > kCancelled * unit * y && y > 0;
  }
  census.headroom = largest > 0 ? std::log2(top / largest) : HUGE_VAL;
  return census;
}

}  // namespace gdr2
