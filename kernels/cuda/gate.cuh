// SPDX-License-Identifier: Apache-2.0
// The log decay g of one (head, channel) from what the problem gives: g itself, or a raw gate x
// with A_log and dt_bias (docs/MATH.md, gate in kernel). Finite or -inf, never NaN for finite x,
// never positive.
#pragma once

#include "kernels/cuda/tile.cuh"

namespace gdr2::cuda {

// Everything but x, fetched once per (head, channel).
struct Gate {
  int32_t kind;  // gdr2_gate
  float rate;    // exp(A_log[h])
  float bias;    // dt_bias[h, c]
  float lower_bound;
};

__device__ __forceinline__ Gate gate_at(const DeviceProblem& p, int64_t h, int64_t c) {
  if (p.gate == GDR2_GATE_LOG) return {p.gate, 1.0f, 0.0f, 0.0f};
  return {p.gate, exp_(load_parameter(p.A_log, h, 0, 0.0f)), load_parameter(p.dt_bias, h, c, 0.0f),
          p.lower_bound};
}

// rate * y where an infinite rate times zero is zero: a closed gate stays closed.
__device__ __forceinline__ float saturating_product(float rate, float y) {
  return y == 0.0f ? 0.0f : rate * y;
}

__device__ __forceinline__ float log_decay(const Gate& gate, float x) {
  if (gate.kind == GDR2_GATE_LOG) return x;
  if (gate.kind == GDR2_GATE_SOFTPLUS)
    return -saturating_product(gate.rate, softplus(x + gate.bias));
  return gate.lower_bound * sigmoid(saturating_product(gate.rate, x + gate.bias));
}

// What a cotangent of g becomes for x, the bias and A_log.
struct GateGradient {
  float dx;      // also the contribution to ddt_bias[h, c]
  float dA_log;  // the contribution to dA_log[h]
};

__device__ __forceinline__ GateGradient log_decay_gradient(const Gate& gate, float x, float dg) {
  if (gate.kind == GDR2_GATE_LOG) return {dg, 0.0f};
  const float y = x + gate.bias;
  if (gate.kind == GDR2_GATE_SOFTPLUS) {
    // g = -rate softplus(y):  dg/dx = -rate sigmoid(y),  dg/dA_log = g
    const float g = -saturating_product(gate.rate, softplus(y));
    return {dg == 0.0f ? 0.0f : -saturating_product(gate.rate, sigmoid(y)) * dg,
            dg == 0.0f ? 0.0f : g * dg};
  }
  // g = lb sigmoid(z), z = rate y:  dg/dz = lb sigmoid(z) sigmoid(-z),  dz/dx = rate,  dz/dA_log
  // = z
  const float z = saturating_product(gate.rate, y);
  const float dz = dg * gate.lower_bound * sigmoid(z) * sigmoid(-z);
  return {dz == 0.0f ? 0.0f : dz * gate.rate, dz == 0.0f ? 0.0f : dz * z};
}

}  // namespace gdr2::cuda
