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

// This thread's 4 channels of group j.
__device__ __forceinline__ Pack<float, 4> channels_of(const float* shared, const Place& at, int j) {
  return *reinterpret_cast<const Pack<float, 4>*>(shared + at.channel + 4 * j);
}

// 1 / sqrt(sum x^2 + eps), the same on every lane of a warp.
template <int KP>
__device__ __forceinline__ float inverse_norm(const float (&x)[KP], float eps) {
  float sum = 0.0f;
#pragma unroll
  for (int c = lane_index(); c < KP; c += kWarp) sum = fma_(x[c], x[c], sum);
  return 1.0f / sqrt_(warp_sum(sum) + eps);
}

template <class S>
__device__ __forceinline__ void decay(State<S>& state, const float* alpha, const Place& at) {
#pragma unroll
  for (int j = 0; j < S::kGroups; ++j) {
    const auto pack = channels_of(alpha, at, j);
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int v = 0; v < S::kOwn; ++v) state.x[j][k][v] *= pack[k];
  }
}

// S += k u^T
template <class S>
__device__ __forceinline__ void write(State<S>& state, const float* key, const float* shared_u,
                                      const Place& at) {
  float u[S::kOwn];
#pragma unroll
  for (int v = 0; v < S::kOwn; v += 4) load_pack(u + v, shared_u + at.column + v);
#pragma unroll
  for (int j = 0; j < S::kGroups; ++j) {
    const auto pack = channels_of(key, at, j);
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int v = 0; v < S::kOwn; ++v) state.x[j][k][v] = fma_(pack[k], u[v], state.x[j][k][v]);
  }
}

// x[0] becomes the sum of the rows of x, of neighbours first.
template <int Rows, int N>
__device__ __forceinline__ void add_rows(float (&x)[Rows][N]) {
#pragma unroll
  for (int step = 1; step < Rows; step *= 2)
#pragma unroll
    for (int row = 0; row < Rows; row += 2 * step)
#pragma unroll
      for (int i = 0; i < N; ++i) x[row][i] += x[row + step][i];
}

// S^T x in parts, which lie in shared memory until `sum_of` adds them up behind a barrier. There is
// one order of additions: 4 channels one after the other, groups of them as a tree of neighbours. So
// the bits are those of the state, however it is laid out.
template <class S>
using Parts = float[S::kParts][kColumns];

template <class S>
__device__ __forceinline__ void read(Parts<S>& parts, const State<S>& state, const float* x,
                                     const Place& at) {
  float sum[S::kGroups][S::kOwn] = {};
#pragma unroll
  for (int j = 0; j < S::kGroups; ++j) {
    const auto pack = channels_of(x, at, j);
#pragma unroll
    for (int k = 0; k < 4; ++k)
#pragma unroll
      for (int v = 0; v < S::kOwn; ++v) sum[j][v] = fma_(state.x[j][k][v], pack[k], sum[j][v]);
  }
  add_rows(sum);
  constexpr int kFirst = S::kChannelsInWarp ? 1 : S::kAcross;
  constexpr int kPast = S::kChannelsInWarp ? S::kAcross : kWarp;
#pragma unroll
  for (int mask = kFirst; mask < kPast; mask *= 2)
#pragma unroll
    for (float& y : sum[0]) y += shuffle_xor(y, mask);
  if (S::kChannelsInWarp ? at.channel != 0 : lane_index() >= S::kAcross) return;
#pragma unroll
  for (int v = 0; v < S::kOwn; v += 4)
    store_pack(&parts[S::kChannelsInWarp ? 0 : warp_index()][at.column + v], sum[0] + v);
}

template <int Count>
__device__ __forceinline__ float sum_of(const float (&parts)[Count][kColumns], int column) {
  float sum[Count][1];
#pragma unroll
  for (int i = 0; i < Count; ++i) sum[i][0] = parts[i][column];
  add_rows(sum);
  return sum[0][0];
}

template <class T>
__device__ __forceinline__ void store_output(const DeviceProblem& p, const Place& at, int64_t t,
                                             float o) {
  const int column = at.first_column + own_column();
  if (own_column() >= 0 && column < p.V)
    p.o.row<T>(not_hoisted(at.row), t, not_hoisted(at.value_head))[column] = from_float<T>(o);
}

// Every output of a row that has no state.
template <class T>
__device__ __forceinline__ void fill_output(const DeviceProblem& p, const Place& at, float value) {
  for (int64_t t = 0; t < p.T; ++t) store_output<T>(p, at, t, value);
}

template <class S, int KP>
struct Shared {
  Token<KP> token[2];  // a token is shared while the slowest warp still reads the last one
  alignas(16) Parts<S> parts;
  alignas(16) float u[kColumns];
};

// One token: Sbar = alpha S, u = z - Sbar^T e, S = Sbar + k u^T, o = scale S^T q, which the thread
// that owns a column returns. The norms of k and q go into u and o.
template <class S, int KP>
__device__ __forceinline__ float step(State<S>& state, const Token<KP>& token, float z,
                                      Shared<S, KP>& shared, const DeviceProblem& p,
                                      const Place& at) {
  const bool owner = own_column() >= 0;
  decay(state, token.alpha, at);
  read<S>(shared.parts, state, token.e, at);
  sync_threads();
  if (owner) {
    const float k_norm = p.l2norm ? inverse_norm(token.k, p.l2norm_eps) : 1.0f;
    shared.u[own_column()] = k_norm * (z - k_norm * sum_of(shared.parts, own_column()));
  }
  sync_threads();
  write(state, token.k, shared.u, at);
  read<S>(shared.parts, state, token.q, at);
  sync_threads();
  if (!owner) return 0.0f;
  const float q_norm = p.l2norm ? inverse_norm(token.q, p.l2norm_eps) : 1.0f;
  return p.scale * q_norm * sum_of(shared.parts, own_column());
}

template <class T, int KP, Access A>
__global__ void __launch_bounds__(kThreads, KP == 256 ? 2 : 3)
    decode(DeviceProblem p, DecodePool pool) {
  using S = Split<KP, A>;
  auto& shared = shared_as<Shared<S, KP>>();
  const Place at = place_of<S>(p);
  const int64_t slot = pool.slot[at.row];
  if (slot < 0) return fill_output<T>(p, at, 0.0f);
  if (slot >= pool.slots) return fill_output<T>(p, at, infinity() - infinity());

  float* matrix = pool.state.matrix(slot, at.value_head);
  State<S> state;
  load_state<S, A>(state, matrix, pool.state, p, at);
  auto raw = load_token<T>(p, at, 0);
#pragma unroll 1
  for (int64_t t = 0; t < p.T; ++t) {
    Token<KP>& token = shared.token[t % 2];
    share_token(token, raw, p, at);
    const float z = to_float(raw.w) * to_float(raw.v);
    sync_threads();
    if (t + 1 < p.T) raw = load_token<T>(p, at, t + 1);
    store_output<T>(p, at, t, step(state, token, z, shared, p, at));
  }
  store_state<S, A>(state, matrix, pool.state, p, at);
}

Access access_of(const DeviceProblem& p, const StateTensor& state) {
  const bool aligned = reinterpret_cast<uintptr_t>(state.data) % 16 == 0 &&
                       state.sequence % 4 == 0 && state.head % 4 == 0;
  if (aligned && state.v == 1 && state.k % 4 == 0 && p.V % 4 == 0) return Access::kColumnPacks;
  if (aligned && state.k == 1 && state.v % 4 == 0 && p.K % 4 == 0) return Access::kChannelPacks;
  return Access::kElements;
}

template <class T>
void launch_typed(const DeviceProblem& p, const DecodePool& pool, dim3 grid) {
  const auto start = [&]<int KP, Access A>() {
    launch("decode", decode<T, KP, A>, grid, kThreads, sizeof(Shared<Split<KP, A>, KP>), p.stream,
           p, pool);
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
