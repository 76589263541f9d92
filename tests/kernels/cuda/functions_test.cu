// SPDX-License-Identifier: Apache-2.0
// Every elementary function of the device code at every number that 16 bits can hold, in bf16 and
// fp16, in ulps of fp32 against libm in double.
#include <cmath>
#include <limits>

#include "kernels/cuda/device/math.cuh"
#include "kernels/cuda/device/thread.cuh"
#include "tests/kernels/cuda/device_buffer.cuh"

namespace gdr2::cuda::test {
namespace {

class FunctionsTest : public OnDevice {};

struct Functions {
  float exp, fast_exp, log1p, softplus, sigmoid, inverse_root, fast_reciprocal;
};

__global__ void evaluate(const float* in, Functions* out, int count) {
  for (int i = thread_index(); i < count; i += block_size()) {
    const float x = in[i];
    out[i] = {exp_(x),    fast_exp(x), log1p_(fabsf(x)), softplus(x),
              sigmoid(x), 1.0f / sqrt_(fabsf(x)), fast_reciprocal(x)};
  }
}

// All finite values of both 16-bit formats.
std::vector<float> all_numbers() {
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto pattern = static_cast<uint16_t>(bits);
    for (const double x : {value(Bf16{pattern}), value(Fp16{pattern})})
      if (std::isfinite(x)) values.push_back(static_cast<float>(x));
  }
  return values;
}

// Error in units of the last place of the right answer, those of the smallest normal number below it;
// 0 where the right answer overflows fp32 and the result is infinite.
double ulps(double got, double wanted) {
  if (std::abs(wanted) >= 0x1.ffffffp127) return std::isinf(got) ? 0.0 : HUGE_VAL;
  const int exponent = wanted == 0 ? -126 : std::max(std::ilogb(wanted), -126);
  return std::abs(got - wanted) / std::ldexp(1.0, exponent - 23);
}

struct Worst {
  double ulps = 0.0, at = 0.0;
  void see(double error, double x) {
    if (!(error <= ulps)) ulps = error, at = x;
  }
};

TEST_F(FunctionsTest, KeepTheirPromisesAtEvery16BitNumber) {
  const auto in = all_numbers();
  const DeviceBuffer<float> from(in);
  const DeviceBuffer<Functions> to(in.size());
  launch("evaluate", evaluate, dim3(1), 256, 0, nullptr, from.data(), to.data(),
         static_cast<int>(in.size()));
  const auto out = to.read();
  Worst exp, fast_exp, log1p, softplus, sigmoid, inverse_root, reciprocal;
  for (size_t i = 0; i < in.size(); ++i) {
    const double x = in[i], e = std::exp(x);
    exp.see(ulps(out[i].exp, e), x);
    // Relative error 2 + |x| ulp of an argument that is rounded; nothing is promised near overflow.
    if (e >= 0x1p-125 && e < 0x1p126)
      fast_exp.see(ulps(out[i].fast_exp, e) / (3.0 + 2.0 * std::abs(x)), x);
    log1p.see(ulps(out[i].log1p, std::log1p(std::abs(x))), x);
    softplus.see(ulps(out[i].softplus, std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))), x);
    sigmoid.see(ulps(out[i].sigmoid, x > 0 ? 1 / (1 + std::exp(-x)) : e / (1 + e)), x);
    if (x != 0) inverse_root.see(ulps(out[i].inverse_root, 1 / std::sqrt(std::abs(x))), x);
    // Subnormal arguments count as 0, subnormal results may be flushed.
    if (std::abs(x) >= 0x1p-126 && std::abs(x) <= 0x1p126)
      reciprocal.see(ulps(out[i].fast_reciprocal, 1 / x), x);
  }
  EXPECT_LE(exp.ulps, 2.0) << exp.at;
  EXPECT_LE(fast_exp.ulps, 1.0) << fast_exp.at;
  EXPECT_LE(log1p.ulps, 2.0) << log1p.at;
  EXPECT_LE(softplus.ulps, 4.0) << softplus.at;
  EXPECT_LE(sigmoid.ulps, 4.0) << sigmoid.at;
  EXPECT_LE(inverse_root.ulps, 1.5) << inverse_root.at;
  EXPECT_LE(reciprocal.ulps, 1.0) << reciprocal.at;
}

}  // namespace
}  // namespace gdr2::cuda::test
