// SPDX-License-Identifier: Apache-2.0
// The gate in the kernel and its gradient against the same formulas in fp64, and at saturation.
#include <cmath>
#include <limits>

#include "kernels/cuda/device/thread.cuh"
#include "kernels/cuda/gate.cuh"
#include "tests/kernels/cuda/device_buffer.cuh"

namespace gdr2::cuda::test {
namespace {

class GateTest : public OnDevice {};

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Evaluated {
  float g, dx, dA_log;
};

// Channel t has dt_bias[t] and x[t]; all share A_log[0] and the cotangent dg.
__global__ void evaluate(DeviceProblem p, const float* x, float dg, Evaluated* out) {
  const int t = thread_index();
  const Gate gate = gate_at(p, 0, t);
  const GateGradient d = log_decay_gradient(gate, x[t], dg);
  out[t] = {log_decay(gate, x[t]), d.dx, d.dA_log};
}

std::vector<Evaluated> evaluated(gdr2_gate kind, float A_log, const std::vector<float>& bias,
                                 std::vector<float> x, float dg) {
  x.resize(32);
  std::vector<float> biases = bias;
  biases.resize(32);
  const DeviceBuffer<float> raw(x), rate(std::vector<float>{A_log}), shift(biases);
  const DeviceBuffer<Evaluated> out(32);
  DeviceProblem p{};
  p.gate = kind;
  p.lower_bound = -5.0f;
  p.A_log = {rate.data(), 1, 0, GDR2_F32};
  if (!bias.empty()) p.dt_bias = {shift.data(), 32, 1, GDR2_F32};
  launch("evaluate", evaluate, dim3(1), 32, 0, nullptr, p, raw.data(), dg, out.data());
  return out.read();
}

void expect_close(float got, double wanted) {
  // Three roundings and three functions of 2 ulp each, none of which cancels: 10 units of 2^-23.
  EXPECT_TRUE(std::abs(got - wanted) <= 10 * 0x1p-23 * std::abs(wanted) + 0x1p-140)
      << got << " for " << wanted;
}

const std::vector<float> kRaw = {-90, -20, -5, -1.5f, -0.25f, 0, 0.125f, 0.75f, 3, 11, 40, 95};
const std::vector<float> kBias = {0.5f, -0.25f, 1, 0, -2, 0.75f, 0, 0, -1, 0.5f, 2, -3};

TEST_F(GateTest, AGivenDecayPassesThrough) {
  const auto out = evaluated(GDR2_GATE_LOG, 0.7f, kBias, {-0.5f, -kInf, 0.0f}, 3.0f);
  EXPECT_EQ(out[0].g, -0.5f);
  EXPECT_EQ(out[1].g, -kInf);
  EXPECT_EQ(out[2].g, 0.0f);
  EXPECT_EQ(out[0].dx, 3.0f);
  EXPECT_EQ(out[0].dA_log, 0.0f);
}

TEST_F(GateTest, TheSoftplusGateAndItsGradientFollowTheirFormulas) {
  for (const float A_log : {-1.0f, 0.0f, 1.3f})
    for (const bool with_bias : {false, true}) {
      const auto out = evaluated(GDR2_GATE_SOFTPLUS, A_log,
                                 with_bias ? kBias : std::vector<float>{}, kRaw, 0.75f);
      for (size_t i = 0; i < kRaw.size(); ++i) {
        const double y = static_cast<double>(kRaw[i]) + (with_bias ? kBias[i] : 0.0f),
                     rate = std::exp(static_cast<double>(A_log));
        const double softplus = std::max(y, 0.0) + std::log1p(std::exp(-std::abs(y)));
        expect_close(out[i].g, -rate * softplus);
        expect_close(out[i].dx, -0.75 * rate / (1 + std::exp(-y)));
        expect_close(out[i].dA_log, -0.75 * rate * softplus);
      }
    }
}

TEST_F(GateTest, TheLowerBoundGateAndItsGradientFollowTheirFormulas) {
  for (const float A_log : {-1.0f, 0.0f}) {
    const auto out = evaluated(GDR2_GATE_LOWER_BOUND, A_log, kBias, kRaw, 0.75f);
    for (size_t i = 0; i < kRaw.size(); ++i) {
      const double rate = std::exp(static_cast<double>(A_log)), z = rate * (kRaw[i] + kBias[i]);
      // z is rounded, and sigmoid(z) has relative condition |z|: that many more units.
      const double s = 1 / (1 + std::exp(-z)), slope = s * (1 / (1 + std::exp(z))),
                   units = (10 + 4 * std::abs(z)) * 0x1p-23;
      EXPECT_TRUE(std::abs(out[i].g + 5 * s) <= units * 5 * s + 0x1p-140) << z;
      EXPECT_TRUE(std::abs(out[i].dx + 0.75 * 5 * slope * rate) <=
                  units * 0.75 * 5 * slope * rate + 0x1p-140)
          << z;
      EXPECT_TRUE(std::abs(out[i].dA_log + 0.75 * 5 * slope * z) <=
                  units * 0.75 * 5 * slope * std::abs(z) + 0x1p-140)
          << z;
    }
  }
}

TEST_F(GateTest, ASaturatedGateIsNeverNan) {
  for (const gdr2_gate kind : {GDR2_GATE_SOFTPLUS, GDR2_GATE_LOWER_BOUND})
    for (const float A_log : {-200.0f, 0.0f, 88.0f, 100.0f})
      for (const float dg : {0.0f, 1.0f}) {
        const auto out =
            evaluated(kind, A_log, {}, {-3e38f, -200, -104, -88, 0, 88, 200, 3e38f}, dg);
        for (int i = 0; i < 8; ++i) {
          EXPECT_FALSE(std::isnan(out[i].g) || out[i].g > 0.0f) << A_log << " " << i;
          EXPECT_FALSE(std::isnan(out[i].dx)) << A_log << " " << i;
          EXPECT_FALSE(std::isnan(out[i].dA_log)) << A_log << " " << i;
          if (dg == 0.0f) {
            EXPECT_EQ(out[i].dx, 0.0f);
            EXPECT_EQ(out[i].dA_log, 0.0f);
          }
        }
      }
}

// exp(100) is infinite in fp32; softplus(-200) is zero: the gate is closed, not NaN.
TEST_F(GateTest, AnInfiniteRateTimesAClosedGateIsZero) {
  const auto out = evaluated(GDR2_GATE_SOFTPLUS, 100.0f, {}, {-200.0f}, 1.0f);
  EXPECT_EQ(out[0].g, 0.0f);
  EXPECT_EQ(out[0].dx, 0.0f);
  EXPECT_EQ(out[0].dA_log, 0.0f);
}

}  // namespace
}  // namespace gdr2::cuda::test
