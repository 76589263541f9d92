// SPDX-License-Identifier: Apache-2.0
// The token recurrence (docs/MATH.md, token recurrence) with the state in registers: columns of a
// state are independent, so a call is one read and one write of the states, and no block waits
// for another.
#include "kernels/cuda/recurrent.hpp"

#include "kernels/cuda/device/warp.cuh"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/recurrent_state.cuh"
#include "kernels/cuda/recurrent_token.cuh"

namespace gdr2::cuda {
namespace recurrent {
namespace {

// This lane's 4 channels of group j.
__device__ __forceinline__ Pack<float, 4> channels_of(const float* shared, const Place& at, int j) {
  return *reinterpret_cast<const Pack<float, 4>*>(shared + 64 * j + at.channel);
}

// 1 / sqrt(sum x^2 + eps), the same on every lane.
template <int Groups>
__device__ __forceinline__ float inverse_norm(const float* x, const Place& at, float eps) {
  float sum = 0.0f;
#pragma unroll
  for (int j = 0; j < Groups; ++j) {
    const auto pack = channels_of(x, at, j);
#pragma unroll
    for (int k = 0; k < 4; ++k) sum = fma_(pack[k], pack[k], sum);
  }
  return 1.0f / sqrt_(warp_sum<kChannelLanes>(sum) + eps);
}

template <int Groups>
__device__ __forceinline__ void decay(State<Groups>& state, const float* alpha, const Place& at) {
#pragma unroll
  for (int j = 0; j < Groups; ++j) {
    const auto pack = channels_of(alpha, at, j);
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int v = 0; v < 4; ++v) state.x[j][k][v] *= pack[k];
  }
}

// y = factor S^T x: this lane's 4 columns, on every lane.
template <int Groups>
__device__ __forceinline__ void read(float (&y)[4], const State<Groups>& state, const float* x,
                                     const Place& at, float factor) {
  float sum[4] = {};
#pragma unroll
  for (int j = 0; j < Groups; ++j) {
    const auto pack = channels_of(x, at, j);
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int v = 0; v < 4; ++v) sum[v] = fma_(state.x[j][k][v], pack[k], sum[v]);
  }
#pragma unroll
  for (int v = 0; v < 4; ++v) y[v] = factor * warp_sum<kChannelLanes>(sum[v]);
}

// S += k u^T
template <int Groups>
__device__ __forceinline__ void write(State<Groups>& state, const float* key, const Place& at,
                                      const float (&u)[4]) {
#pragma unroll
  for (int j = 0; j < Groups; ++j) {
    const auto pack = channels_of(key, at, j);
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int v = 0; v < 4; ++v) state.x[j][k][v] = fma_(pack[k], u[v], state.x[j][k][v]);
  }
}

// One token: Sbar = alpha S, u = z - Sbar^T e, S = Sbar + k u^T, o = scale S^T q. The norms of k
// and q go into u and o.
template <int KP>
__device__ __forceinline__ void step(float (&o)[4], State<KP / 64>& state,
                                     const KeyToken<KP>& token, const float (&z)[4],
                                     const DeviceProblem& p, const Place& at) {
  const float k_norm = p.l2norm ? inverse_norm<KP / 64>(token.k, at, p.l2norm_eps) : 1.0f;
  const float q_norm = p.l2norm ? inverse_norm<KP / 64>(token.q, at, p.l2norm_eps) : 1.0f;
  decay(state, token.alpha, at);
  float u[4];
  read(u, state, token.e, at, k_norm);
#pragma unroll
  for (int v = 0; v < 4; ++v) u[v] = k_norm * (z[v] - u[v]);
  write(state, token.k, at, u);
  read(o, state, token.q, at, p.scale * q_norm);
}

template <class T, bool Vector>
__device__ __forceinline__ void store_output(const DeviceProblem& p, const Place& at, int64_t t,
                                             const float (&o)[4]) {
  if (at.channel != 0) return;
  store_channels(p.o.row<T>(at.row, t, at.value_head), o, at.column, p.V, Vector);
}

// Every output of a row that has no state.
template <class T, bool Vector>
__device__ __forceinline__ void fill_output(const DeviceProblem& p, const Place& at, float value) {
  const float o[4] = {value, value, value, value};
  for (int64_t t = 0; t < p.T; ++t) store_output<T, Vector>(p, at, t, o);
}

template <int KP, Access A>
struct DecodeShared {
  KeyToken<KP> token[2];  // a token is shared while the slowest warp still reads the last one
};
template <int KP>
struct DecodeShared<KP, Access::kColumnPacks> {
  KeyToken<KP> token[2];
  StagedState<KP> state;
};

template <class T, int KP, Access A>
__global__ void __launch_bounds__(kThreads, KP == 256 ? 2 : 4)
    decode(DeviceProblem p, DecodePool pool) {
  constexpr bool kVector = A != Access::kElements;
  auto& shared = shared_as<DecodeShared<KP, A>>();
  const Place at = place_of(p);
  auto raw = load_token<T, KP, kVector>(p, at, 0);
  const int64_t slot = pool.slot[at.row];
  if (slot < 0) return fill_output<T, kVector>(p, at, 0.0f);
  if (slot >= pool.slots) return fill_output<T, kVector>(p, at, infinity() - infinity());

  float* matrix = pool.state.matrix(slot, at.value_head);
  const int first_column = at.column / kColumns * kColumns;
  State<KP / 64> state;
  if constexpr (A == Access::kColumnPacks) {
    copy_in(shared.state, matrix, pool.state, p, first_column);
    copy_wait<0>();
    sync_threads();
    take(state, shared.state, p, at);
  } else {
    load_state<A>(state, matrix, pool.state, p, at);
  }
#pragma unroll 1
  for (int64_t t = 0; t < p.T; ++t) {
    KeyToken<KP>& token = shared.token[t % 2];
    share_token(token, raw, p, at);
    float z[4], o[4];
#pragma unroll
    for (int v = 0; v < 4; ++v) z[v] = to_float(raw.w[v]) * to_float(raw.v[v]);
    sync_threads();
    if (t + 1 < p.T) raw = load_token<T, KP, kVector>(p, at, t + 1);
    step(o, state, token, z, p, at);
    store_output<T, kVector>(p, at, t, o);
  }
  if constexpr (A == Access::kColumnPacks) {
    put(shared.state, state, at);  // every warp has taken its part before the first token's barrier
    sync_threads();
    copy_out(shared.state, matrix, pool.state, p, first_column);
  } else {
    store_state<A>(state, matrix, pool.state, p, at);
  }
}

Access access_of(const DeviceProblem& p, const StateTensor& state) {
  const bool aligned = reinterpret_cast<uintptr_t>(state.data) % 16 == 0 &&
                       state.sequence % 4 == 0 && state.head % 4 == 0 && p.v.vector && p.w.vector &&
                       p.o.vector;
  if (aligned && state.v == 1 && state.k % 4 == 0 && p.V % 4 == 0) return Access::kColumnPacks;
  if (aligned && state.k == 1 && state.v % 4 == 0 && p.K % 4 == 0) return Access::kChannelPacks;
  return Access::kElements;
}

template <class T>
void launch_typed(const DeviceProblem& p, const DecodePool& pool, dim3 grid) {
  const auto start = [&]<int KP, Access A>() {
    launch("decode", decode<T, KP, A>, grid, kThreads, sizeof(DecodeShared<KP, A>), p.stream, p,
           pool);
  };
  const Access access = access_of(p, pool.state);
  if (access == Access::kElements)
    return start.template operator()<kMaxChannels, Access::kElements>();
  dispatch_padded(p.K, [&](auto kp) {
    if (access == Access::kColumnPacks)
      return start.template operator()<kp, Access::kColumnPacks>();
    start.template operator()<kp, Access::kChannelPacks>();
  });
}

}  // namespace
}  // namespace recurrent

void launch_decode(const DeviceProblem& p, const DecodePool& pool) {
  using namespace recurrent;
  const int64_t blocks = p.B * p.HV * ceil_div(p.V, kColumns);
  if (blocks == 0 || p.T == 0) return;
  const dim3 grid(static_cast<unsigned>(blocks));
  if (p.dtype == GDR2_BF16) return launch_typed<Bf16>(p, pool, grid);
  if (p.dtype == GDR2_F16) return launch_typed<Fp16>(p, pool, grid);
  launch_typed<float>(p, pool, grid);
}

}  // namespace gdr2::cuda
