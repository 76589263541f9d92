// SPDX-License-Identifier: Apache-2.0
// The decode kernel's work split, and the state in its registers. A CTA owns 32 columns of one
// state, a warp 8 of them with all K channels. Of a warp's lanes, l / 16 picks 4 columns and l %
// 16 the channels 64 j + 4 (l % 16) + {0..3}. With contiguous channels a warp so reads whole rows
// of the state at once; with contiguous columns the CTA's part goes through shared memory, where
// 8 neighbouring threads move the 128 bytes of a row.
#pragma once

#include "kernels/cuda/device/memory.cuh"
#include "kernels/cuda/problem.cuh"

namespace gdr2::cuda::recurrent {

constexpr int kThreads = 128;
constexpr int kColumnsPerWarp = 8;
constexpr int kColumns = kThreads / kWarp * kColumnsPerWarp;
constexpr int kChannelLanes = 16;

// How a state moves: in 16-byte packs along the columns (through shared memory), along the
// channels, or by elements.
enum class Access { kColumnPacks, kChannelPacks, kElements };

// Where this lane works.
struct Place {
  int64_t row;
  int32_t head, value_head;
  int32_t column;   // the first of 4
  int32_t channel;  // the first of 4 in every group of 64
};

__device__ __forceinline__ Place place_of(const DeviceProblem& p) {
  const int tiles = static_cast<int>(ceil_div(p.V, kColumns));
  const int64_t matrix = block_index().x / tiles;
  Place at;
  at.row = matrix / p.HV;
  at.value_head = static_cast<int32_t>(matrix % p.HV);
  at.head = at.value_head / p.group;
  at.column = static_cast<int32_t>(block_index().x % tiles) * kColumns +
              warp_index() * kColumnsPerWarp + lane_index() / kChannelLanes * 4;
  at.channel = lane_index() % kChannelLanes * 4;
  return at;
}

// This lane's part of the state: group of 64 channels, channel, column.
template <int Groups>
struct State {
  float x[Groups][4][4];
};

// Calls move(address, elements of group j, channel k, column v) for every pack along the channels
// or every element.
template <Access A, int Groups, class Move>
__device__ __forceinline__ void for_state(State<Groups>& state, float* matrix,
                                          const StateTensor& tensor, const DeviceProblem& p,
                                          const Place& at, const Move& move) {
  const int64_t k_stride = not_hoisted(tensor.k), v_stride = not_hoisted(tensor.v);
#pragma unroll
  for (int j = 0; j < Groups; ++j)
#pragma unroll
    for (int k = 0; k < (A == Access::kElements ? 4 : 1); ++k)
#pragma unroll
      for (int v = 0; v < 4; ++v) {
        const int channel = 64 * j + at.channel + k, column = at.column + v;
        if (channel < p.K && column < p.V)
          move(matrix + channel * k_stride + column * v_stride, state.x[j], k, v);
      }
}

template <Access A, int Groups>
__device__ __forceinline__ void load_state(State<Groups>& state, float* matrix,
                                           const StateTensor& tensor, const DeviceProblem& p,
                                           const Place& at) {
  state = {};
  for_state<A>(state, matrix, tensor, p, at, [](const float* from, float(&x)[4][4], int k, int v) {
    if constexpr (A == Access::kElements) {
      x[k][v] = *from;
    } else {
      const auto pack = *reinterpret_cast<const Pack<float, 4>*>(from);
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i][v] = pack[i];
    }
  });
}

template <Access A, int Groups>
__device__ __forceinline__ void store_state(State<Groups>& state, float* matrix,
                                            const StateTensor& tensor, const DeviceProblem& p,
                                            const Place& at) {
  for_state<A>(state, matrix, tensor, p, at, [](float* to, float(&x)[4][4], int k, int v) {
    if constexpr (A == Access::kElements) {
      *to = x[k][v];
    } else {
      *reinterpret_cast<Pack<float, 4>*>(to) = {{x[0][v], x[1][v], x[2][v], x[3][v]}};
    }
  });
}

// The CTA's [KP, 32] part of a state in shared memory. A row's 8 packs are permuted by its index
// / 4, so that neither the copies (8 threads a row) nor the lanes (rows 4 apart) meet in a bank.
template <int KP>
struct StagedState {
  Pack<float, 4> pack[KP * 8];
};

// The pack of 4 columns of a row. Adding a multiple of 32 channels, or up to 3 to a multiple of
// 4, adds 8 a channel.
__device__ __forceinline__ int staged_at(int channel, int column) {
  return channel * 8 + (column / 4 ^ channel / 4 % 8);
}

// Calls move(pack, address) for the packs of this thread that lie inside the state.
template <int KP, class Move>
__device__ __forceinline__ void for_packs(StagedState<KP>& staged, float* matrix,
                                          const StateTensor& tensor, const DeviceProblem& p,
                                          int first_column, const Move& move) {
  constexpr int kRows = kThreads / 8;  // 16 at a time
  const int row = thread_index() / 8, column = thread_index() % 8 * 4;
  const int even = staged_at(row, column), odd = staged_at(row + kRows, column);
  const int64_t stride = not_hoisted(tensor.k);
  float* address = matrix + row * stride + first_column + column;
  const int rows = first_column + column < p.V ? p.K - row : 0;
#pragma unroll
  for (int i = 0; i < KP / kRows; ++i, address += kRows * stride)
    if (i * kRows < rows) move(staged.pack[(i % 2 ? odd : even) + i / 2 * 2 * kRows * 8], address);
}

template <int KP>
__device__ __forceinline__ void copy_in(StagedState<KP>& staged, float* matrix,
                                        const StateTensor& tensor, const DeviceProblem& p,
                                        int first_column) {
  for_packs(staged, matrix, tensor, p, first_column,
            [](Pack<float, 4>& pack, const float* from) { copy_async_16(&pack, from, true); });
  copy_commit();
}

template <int KP>
__device__ __forceinline__ void copy_out(StagedState<KP>& staged, float* matrix,
                                         const StateTensor& tensor, const DeviceProblem& p,
                                         int first_column) {
  for_packs(staged, matrix, tensor, p, first_column, [](const Pack<float, 4>& pack, float* to) {
    *reinterpret_cast<Pack<float, 4>*>(to) = pack;
  });
}

// This lane's part from and to the staged state; zero outside the state.
template <int KP>
__device__ __forceinline__ void take(State<KP / 64>& state, const StagedState<KP>& staged,
                                     const DeviceProblem& p, const Place& at) {
  const int first = staged_at(at.channel, at.column % kColumns);
  const int channels = at.column < p.V ? p.K - at.channel : 0;
#pragma unroll
  for (int j = 0; j < KP / 64; ++j)
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      Pack<float, 4> pack{};
      if (64 * j + k < channels) pack = staged.pack[first + (64 * j + k) * 8];
#pragma unroll
      for (int v = 0; v < 4; ++v) state.x[j][k][v] = pack[v];
    }
}

template <int KP>
__device__ __forceinline__ void put(StagedState<KP>& staged, const State<KP / 64>& state,
                                    const Place& at) {
  const int first = staged_at(at.channel, at.column % kColumns);
#pragma unroll
  for (int j = 0; j < KP / 64; ++j)
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const auto& x = state.x[j][k];
      staged.pack[first + (64 * j + k) * 8] = {{x[0], x[1], x[2], x[3]}};
    }
}

}  // namespace gdr2::cuda::recurrent
