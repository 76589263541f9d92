// SPDX-License-Identifier: Apache-2.0
// What one token brings to the decode kernel: loaded for the next token while this one is worked
// on, then worked out once a CTA, one channel a thread, and shared. What it brings to a column stays
// with the thread that works the column's sums out.
#pragma once

#include "kernels/cuda/gate.cuh"
#include "kernels/cuda/recurrent_state.cuh"

namespace gdr2::cuda::recurrent {

// q and k before their norm, e = b k, alpha = exp(g).
template <int KP>
struct Token {
  alignas(16) float q[KP], k[KP], e[KP], alpha[KP];
};

// A token's numbers of one channel and one column as loaded. Nothing is converted before it is
// needed, so that all loads of a token are under way together.
template <class T>
struct RawToken {
  T q, k, b, v, w;
  uint32_t g;  // 32 or 16 bits
};

// The column whose sums are this thread's: one of the last threads', since the first have a channel.
// Negative: none.
__device__ __forceinline__ int own_column() { return thread_index() - (kThreads - kColumns); }

template <class T>
__device__ __forceinline__ RawToken<T> load_token(const DeviceProblem& p, const Place& at,
                                                  int64_t t) {
  static_assert(kMaxChannels <= kThreads);
  // No addresses are kept from token to token.
  const int64_t row = not_hoisted(at.row);
  const int32_t head = not_hoisted(at.head), value_head = not_hoisted(at.value_head);
  RawToken<T> raw{};
  if (const int channel = thread_index(); channel < p.K) {
    raw.q = p.q.row<const T>(row, t, head)[channel];
    raw.k = p.k.row<const T>(row, t, head)[channel];
    raw.b = p.b.row<const T>(row, t, head)[channel];
    raw.g = p.g.dtype == GDR2_F32 ? p.g.row<const uint32_t>(row, t, head)[channel]
                                  : p.g.row<const uint16_t>(row, t, head)[channel];
  }
  const int column = at.first_column + own_column();
  if (own_column() >= 0 && column < p.V) {
    raw.v = p.v.row<const T>(row, t, value_head)[column];
    raw.w = p.w.row<const T>(row, t, value_head)[column];
  }
  return raw;
}

__device__ __forceinline__ float gate_number(uint32_t bits, int32_t dtype) {
  if (dtype == GDR2_F32) return float_of(bits);
  const auto half = static_cast<uint16_t>(bits);
  return dtype == GDR2_BF16 ? to_float(Bf16{half}) : to_float(Fp16{half});
}

// Works out this thread's channel; zero and neutral past K.
template <class T, int KP>
__device__ __forceinline__ void share_token(Token<KP>& token, const RawToken<T>& raw,
                                            const DeviceProblem& p, const Place& at) {
  if (const int channel = thread_index(); channel < KP) {
    const bool inside = channel < p.K;
    const float k = to_float(raw.k), b = to_float(raw.b);
    token.q[channel] = to_float(raw.q);
    token.k[channel] = k;
    token.e[channel] = (p.neg_eigval ? 2.0f * b : b) * k;
    const Gate gate = gate_at(p, not_hoisted(at.head), inside ? channel : 0);
    token.alpha[channel] = inside ? exp_(log_decay(gate, gate_number(raw.g, p.g.dtype))) : 1.0f;
  }
}

}  // namespace gdr2::cuda::recurrent
