// SPDX-License-Identifier: Apache-2.0
// What one token brings to the decode kernel: loaded for the next token while this one is worked
// on, then worked out once a CTA, one channel a thread, and shared.
#pragma once

#include "kernels/cuda/gate.cuh"
#include "kernels/cuda/recurrent_state.cuh"

namespace gdr2::cuda::recurrent {

// What one token brings on the key side, q and k before their norm: e = b k, alpha = exp(g).
template <int KP>
struct KeyToken {
  alignas(16) float q[KP], k[KP], e[KP], alpha[KP];
};

// A token's numbers as loaded: channels thread, thread + kThreads of the key side, this lane's 4
// columns of the value side. Nothing is converted before it is needed, so that all loads of a
// token are under way together.
template <class T, int KP>
struct RawToken {
  static constexpr int kCount = (KP + kThreads - 1) / kThreads;
  T q[kCount], k[kCount], b[kCount];
  Pack<T, 4> v, w;
  uint32_t g[kCount];  // 32 or 16 bits
};

template <bool Vector, class T>
__device__ __forceinline__ Pack<T, 4> load_columns(const T* row, int column, int columns) {
  Pack<T, 4> pack{};
  if constexpr (Vector) {
    if (column < columns) pack = *reinterpret_cast<const Pack<T, 4>*>(row + column);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (column + i < columns) pack[i] = row[column + i];
  }
  return pack;
}

template <class T, int KP, bool Vector>
__device__ __forceinline__ RawToken<T, KP> load_token(const DeviceProblem& p, const Place& at,
                                                      int64_t t) {
  RawToken<T, KP> raw{};
#pragma unroll
  for (int i = 0; i < RawToken<T, KP>::kCount; ++i) {
    const int channel = thread_index() + i * kThreads;
    if (channel >= p.K) continue;
    raw.q[i] = p.q.row<const T>(at.row, t, at.head)[channel];
    raw.k[i] = p.k.row<const T>(at.row, t, at.head)[channel];
    raw.b[i] = p.b.row<const T>(at.row, t, at.head)[channel];
    if (p.g.dtype == GDR2_F32) {
      raw.g[i] = p.g.row<const uint32_t>(at.row, t, at.head)[channel];
    } else {
      raw.g[i] = p.g.row<const uint16_t>(at.row, t, at.head)[channel];
    }
  }
  raw.v = load_columns<Vector>(p.v.row<const T>(at.row, t, at.value_head), at.column, p.V);
  raw.w = load_columns<Vector>(p.w.row<const T>(at.row, t, at.value_head), at.column, p.V);
  return raw;
}

__device__ __forceinline__ float gate_number(uint32_t bits, int32_t dtype) {
  if (dtype == GDR2_F32) return float_of(bits);
  const auto half = static_cast<uint16_t>(bits);
  return dtype == GDR2_BF16 ? to_float(Bf16{half}) : to_float(Fp16{half});
}

// Works out this thread's channels; zero and neutral past K.
template <class T, int KP>
__device__ __forceinline__ void share_token(KeyToken<KP>& token, const RawToken<T, KP>& raw,
                                            const DeviceProblem& p, const Place& at) {
#pragma unroll
  for (int i = 0; i < RawToken<T, KP>::kCount; ++i) {
    const int channel = thread_index() + i * kThreads;
    if (channel >= KP) continue;
    const bool inside = channel < p.K;
    const float k = to_float(raw.k[i]), b = to_float(raw.b[i]);
    token.q[channel] = to_float(raw.q[i]);
    token.k[channel] = k;
    token.e[channel] = (p.neg_eigval ? 2.0f * b : b) * k;
    const Gate gate = gate_at(p, at.head, inside ? channel : 0);
    token.alpha[channel] = inside ? exp_(log_decay(gate, gate_number(raw.g[i], p.g.dtype))) : 1.0f;
  }
}

}  // namespace gdr2::cuda::recurrent
