// SPDX-License-Identifier: Apache-2.0
// Conversions bit for bit, elementary functions against libm in double.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cuda/device/math.cuh"
#include "kernels/cuda/device/thread.cuh"
#include "tests/kernels/cuda/device_buffer.cuh"

namespace gdr2::cuda::test {
namespace {

class NumbersTest : public OnDevice {};

// Every sign and exponent, with mantissas at and around the ties of all three formats.
std::vector<float> interesting_floats() {
  std::vector<float> values;
  for (uint32_t exponent = 0; exponent < 256; ++exponent)
    for (const uint32_t mantissa :
         {0u, 1u, 0x0fffu, 0x1000u, 0x1001u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0x18000u,
          0x400000u, 0x555555u, 0x7fefffu, 0x7ff000u, 0x7fffffu})
      for (const uint32_t sign : {0u, 1u})
        values.push_back(std::bit_cast<float>(sign << 31 | exponent << 23 | mantissa));
  return values;
}

struct Conversions {
  Bf16 bf16, bf16_low, bf16_high;
  Fp16 fp16, fp16_low, fp16_high;
  float tf32, from_bf16, from_fp16;
};

__global__ void convert_all(const float* in, Conversions* out, int count) {
  for (int i = thread_index(); i < count; i += block_size()) {
    const float x = in[i], other = in[count - 1 - i];
    Conversions c;
    c.bf16 = from_float<Bf16>(x);
    c.fp16 = from_float<Fp16>(x);
    const uint32_t b = pack2<Bf16>(x, other), f = pack2<Fp16>(x, other);
    c.bf16_low = {static_cast<uint16_t>(b & 0xffffu)};
    c.bf16_high = {static_cast<uint16_t>(b >> 16)};
    c.fp16_low = {static_cast<uint16_t>(f & 0xffffu)};
    c.fp16_high = {static_cast<uint16_t>(f >> 16)};
    c.tf32 = round_to_tf32(x);
    c.from_bf16 = to_float(c.bf16);
    c.from_fp16 = to_float(c.fp16);
    out[i] = c;
  }
}

// The nearest multiple of the format's spacing at x, ties to even (away: for tf32).
double nearest(double x, int mantissa_bits, int min_exponent, double largest, bool ties_away) {
  if (x == 0 || std::isinf(x)) return x;
  const int exponent = std::max(std::ilogb(x), min_exponent);
  const double steps = std::ldexp(x, mantissa_bits - exponent);
  const double whole = ties_away ? std::round(steps) : std::nearbyint(steps);
  const double y = std::ldexp(whole, exponent - mantissa_bits);
  return std::abs(y) > largest ? std::copysign(std::numeric_limits<double>::infinity(), x) : y;
}

void expect_same(double got, double wanted, double from) {
  if (std::isnan(from)) {
    EXPECT_TRUE(std::isnan(got)) << from;
  } else {
    EXPECT_EQ(got, wanted) << std::hexfloat << from;
    EXPECT_EQ(std::signbit(got), std::signbit(wanted)) << from;
  }
}

TEST_F(NumbersTest, ConversionsRoundToNearest) {
  const auto in = interesting_floats();
  const DeviceBuffer<float> from(in);
  const DeviceBuffer<Conversions> to(in.size());
  launch("convert_all", convert_all, dim3(1), 256, 0, nullptr, from.data(), to.data(),
         static_cast<int>(in.size()));
  const auto out = to.read();
  for (size_t i = 0; i < in.size(); ++i) {
    const double x = in[i], other = in[in.size() - 1 - i];
    const auto bf16 = [](double y) { return nearest(y, 7, -126, 0x1.fep127, false); };
    const auto fp16 = [](double y) { return nearest(y, 10, -14, 65504.0, false); };
    expect_same(value(out[i].bf16), bf16(x), x);
    expect_same(value(out[i].bf16_low), bf16(x), x);
    expect_same(value(out[i].bf16_high), bf16(other), other);
    expect_same(value(out[i].fp16), fp16(x), x);
    expect_same(value(out[i].fp16_low), fp16(x), x);
    expect_same(value(out[i].fp16_high), fp16(other), other);
    expect_same(out[i].from_bf16, value(out[i].bf16), x);
    expect_same(out[i].from_fp16, value(out[i].fp16), x);
    if (std::abs(x) >= 0x1p-126)
      expect_same(out[i].tf32, nearest(x, 10, -126, 0x1.ffcp127, true), x);
  }
}

struct Functions {
  float exp, fast_exp, softplus, sigmoid;
};

__global__ void evaluate(const float* in, Functions* out, int count) {
  for (int i = thread_index(); i < count; i += block_size())
    out[i] = {exp_(in[i]), fast_exp(in[i]), softplus(in[i]), sigmoid(in[i])};
}

// Errors in units of the last place of the right answer; the bounds are the promises of math.cuh.
double ulps(double got, double wanted) {
  const int exponent = std::max(wanted == 0 ? -126 : std::ilogb(wanted), -126);
  return std::abs(got - wanted) / std::ldexp(1.0, exponent - 23);
}

TEST_F(NumbersTest, ElementaryFunctionsKeepTheirPromises) {
  std::vector<float> in = {0.0f,   -0.0f,   1e-30f,  -1e-30f, 88.0f,
                           -87.0f, -103.0f, -104.0f, -150.0f, -1e4f};
  for (int i = -400; i <= 400; ++i) in.push_back(0.2171f * static_cast<float>(i));
  const DeviceBuffer<float> from(in);
  const DeviceBuffer<Functions> to(in.size());
  launch("evaluate", evaluate, dim3(1), 128, 0, nullptr, from.data(), to.data(),
         static_cast<int>(in.size()));
  const auto out = to.read();
  for (size_t i = 0; i < in.size(); ++i) {
    const double x = in[i], e = std::exp(x);
    EXPECT_LE(ulps(out[i].exp, e), 2.0) << x;
    if (e >= 0x1p-125) {
      EXPECT_LE(ulps(out[i].fast_exp, e), 3.0 + 2.0 * std::abs(x)) << x;
    }
    EXPECT_LE(ulps(out[i].softplus, std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))), 4.0)
        << x;
    EXPECT_LE(ulps(out[i].sigmoid, x > 0 ? 1 / (1 + std::exp(-x)) : e / (1 + e)), 4.0) << x;
  }
}

TEST_F(NumbersTest, ElementaryFunctionsAreRightAtInfinity) {
  const float inf = std::numeric_limits<float>::infinity();
  const DeviceBuffer<float> from(std::vector<float>{-inf, inf});
  const DeviceBuffer<Functions> to(2);
  launch("evaluate", evaluate, dim3(1), 32, 0, nullptr, from.data(), to.data(), 2);
  const auto out = to.read();
  EXPECT_EQ(out[0].exp, 0.0f);
  EXPECT_EQ(out[0].fast_exp, 0.0f);
  EXPECT_EQ(out[0].softplus, 0.0f);
  EXPECT_EQ(out[0].sigmoid, 0.0f);
  EXPECT_EQ(out[1].exp, inf);
  EXPECT_EQ(out[1].softplus, inf);
  EXPECT_EQ(out[1].sigmoid, 1.0f);
}

}  // namespace
}  // namespace gdr2::cuda::test
