// SPDX-License-Identifier: Apache-2.0
// The decode kernel's work split, and the state in its registers. A CTA owns 64 columns of one
// state with all K channels, and a thread a block of them from its load to its store: nothing of a
// state passes through shared memory. The blocks follow the layout, 4 along a line of memory, so
// that each access of a warp takes pieces of at least 256 bytes, and many are under way at once.
#pragma once

#include "kernels/cuda/device/memory.cuh"
#include "kernels/cuda/problem.cuh"

namespace gdr2::cuda::recurrent {

constexpr int kThreads = 256;
constexpr int kColumns = 64;

// How a state moves: in 16-byte packs along the columns (layout KV), along the channels (VK), or by
// elements.
enum class Access { kColumnPacks, kChannelPacks, kElements };

// A thread's block: kOwn columns by kGroups groups of 4 channels. kAcross neighbouring threads share
// a line of memory: a channel's columns, but with packs along the channels a column's channels, which
// then all lie in one warp.
template <int KP, Access A>
struct Split {
  static constexpr bool kChannelsInWarp = A == Access::kChannelPacks;
  static constexpr int kAcross = !kChannelsInWarp ? kColumns / 4 : KP < 4 * kWarp ? KP / 4 : kWarp;
  static constexpr int kLines = kThreads / kAcross;
  static constexpr int kOwn = kChannelsInWarp ? kColumns / kLines : 4;
  static constexpr int kGroups = KP * kColumns / kThreads / kOwn / 4;
  static constexpr int kParts = kChannelsInWarp ? 1 : kThreads / kWarp;  // warps that share columns
};

// Where this thread works.
struct Place {
  int64_t row;
  int32_t head, value_head;
  int32_t first_column;  // of the CTA
  int32_t column;        // the first of this thread's, counted from there
  int32_t channel;       // the first of this thread's
};

template <class S>
__device__ __forceinline__ Place place_of(const DeviceProblem& p) {
  const auto tiles = static_cast<uint32_t>(ceil_div(p.V, kColumns));
  const uint32_t matrix = block_index().x / tiles, heads = static_cast<uint32_t>(p.HV);
  const int along = thread_index() % S::kAcross, line = thread_index() / S::kAcross;
  Place at;
  at.row = matrix / heads;
  at.value_head = static_cast<int32_t>(matrix % heads);
  at.head = at.value_head / p.group;
  at.first_column = static_cast<int32_t>(block_index().x % tiles) * kColumns;
  at.column = S::kChannelsInWarp ? line * S::kOwn : along * 4;
  at.channel = (S::kChannelsInWarp ? along : line) * S::kGroups * 4;
  return at;
}

__device__ __forceinline__ void load_pack(float* x, const float* from) {
  const auto pack = *reinterpret_cast<const Pack<float, 4>*>(from);
#pragma unroll
  for (int i = 0; i < 4; ++i) x[i] = pack[i];
}
__device__ __forceinline__ void store_pack(float* to, const float* x) {
  *reinterpret_cast<Pack<float, 4>*>(to) = {{x[0], x[1], x[2], x[3]}};
}

// This thread's block: group of channels, channel, column.
template <class S>
struct State {
  float x[S::kGroups][4][S::kOwn];
};

// Calls move(address, elements of a group, channel k, column v) for every pack or element of the
// block that lies inside the state, line by line of memory.
template <class S, Access A, class Move>
__device__ __forceinline__ void for_state(State<S>& state, float* matrix, const StateTensor& tensor,
                                          const DeviceProblem& p, const Place& at,
                                          const Move& move) {
  constexpr bool kLinesAreColumns = A == Access::kChannelPacks;
  constexpr int kLines = kLinesAreColumns ? S::kOwn : 4 * S::kGroups;
  constexpr int kMoves = kLinesAreColumns ? S::kGroups : A == Access::kColumnPacks ? 1 : S::kOwn;
  const int64_t stride = kLinesAreColumns ? tensor.v : tensor.k;
  const int64_t step = kLinesAreColumns ? 4 : tensor.v;
  const int first_column = at.first_column + at.column;
  float* line = matrix + at.channel * tensor.k + first_column * tensor.v;
#pragma unroll
  for (int i = 0; i < kLines; ++i) {
#pragma unroll
    for (int n = 0; n < kMoves; ++n) {
      const int j = kLinesAreColumns ? n : i / 4, k = kLinesAreColumns ? 0 : i % 4;
      const int v = kLinesAreColumns ? i : n;
      const int channel = at.channel + 4 * j + k, column = first_column + v;
      if (channel < p.K && column < p.V) move(line + n * step, state.x[j], k, v);
    }
    line = not_hoisted(line + stride);  // one address at a time
  }
}

template <class S, Access A>
__device__ __forceinline__ void load_state(State<S>& state, float* matrix,
                                           const StateTensor& tensor, const DeviceProblem& p,
                                           const Place& at) {
  state = {};
  for_state<S, A>(state, matrix, tensor, p, at,
                  [](const float* from, float(&x)[4][S::kOwn], int k, int v) {
                    if constexpr (A == Access::kElements) {
                      x[k][v] = *from;
                    } else if constexpr (A == Access::kColumnPacks) {
                      load_pack(x[k], from);
                    } else {
                      float channels[4];
                      load_pack(channels, from);
#pragma unroll
                      for (int i = 0; i < 4; ++i) x[i][v] = channels[i];
                    }
                  });
}

template <class S, Access A>
__device__ __forceinline__ void store_state(State<S>& state, float* matrix,
                                            const StateTensor& tensor, const DeviceProblem& p,
                                            const Place& at) {
  for_state<S, A>(state, matrix, tensor, p, at, [](float* to, float(&x)[4][S::kOwn], int k, int v) {
    if constexpr (A == Access::kElements) {
      *to = x[k][v];
    } else if constexpr (A == Access::kColumnPacks) {
      store_pack(to, x[k]);
    } else {
      const float channels[4] = {x[0][v], x[1][v], x[2][v], x[3][v]};
      store_pack(to, channels);
    }
  });
}

}  // namespace gdr2::cuda::recurrent
