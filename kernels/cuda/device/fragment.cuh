// SPDX-License-Identifier: Apache-2.0
// The registers of a warp's 16 x 16 tiles (fragment_memory.cuh moves them, mma.cuh multiplies
// them). One layout serves every tile: an accumulator, a left operand A [m, k] and a right
// operand given as its transpose Bt [n, k]. Lane l owns 8 elements,
//
//     element i (0..7) of lane l:   row = l/4 + 8 * (i/2 % 2)     col = 2 * (l%4) + i%2 + 8 * (i/4)
//
// that is, {i = 0,1} {2,3} {4,5} {6,7} are pairs of neighbouring columns in the quadrants
// (upper left) (lower left) (upper right) (lower right). This is the register layout of
// mma.m16n8k16 for A and, two at a time, for B and C. Hence, without any data movement,
// an accumulator becomes a left operand (A = acc) or a right operand (Bt = acc, that is B = acc^T).
//
// A product policy P names the operands' arithmetic: Bf16Products and Fp16Products (tensor cores,
// operands stored in 16 bits), Tf32Products (tensor cores, stored as fp32, rounded to tf32 in the
// product) and Fp32Products (IEEE fused multiply-adds). Sums are fp32 always. The tf32 product
// takes its k index in another order than the instruction's layout says, for both operands alike,
// so that the layout above holds.
//
// Shared tiles are row-major with a leading dimension `ld` in elements: rows 16-byte aligned for
// 16-bit types, 8-byte for fp32. ld = padded_ld(columns) avoids bank conflicts.
#pragma once

#include "kernels/cuda/device/convert.cuh"
#include "kernels/cuda/device/warp.cuh"

namespace gdr2::cuda {

constexpr int kTile = 16;

struct Bf16Products {
  using Operand = Bf16;
};
struct Fp16Products {
  using Operand = Fp16;
};
struct Tf32Products {
  using Operand = float;
};
struct Fp32Products {
  using Operand = float;
};

__host__ __device__ constexpr int padded_ld(int columns) { return columns + 8; }

// Where element i of this lane sits in the 16 x 16 tile.
__device__ __forceinline__ int tile_row(int i, int lane = lane_index()) {
  return lane / 4 + 8 * (i / 2 % 2);
}
__device__ __forceinline__ int tile_col(int i, int lane = lane_index()) {
  return 2 * (lane % 4) + i % 2 + 8 * (i / 4);
}

// A 16 x 16 tile of sums.
struct Accumulator {
  float x[8];
};

// A 16 x 16 operand: pair p holds elements 2p and 2p + 1.
template <class Operand>
struct Fragment;
template <>
struct Fragment<Bf16> {
  uint32_t pair[4];
};
template <>
struct Fragment<Fp16> {
  uint32_t pair[4];
};
template <>
struct Fragment<float> {
  float x[8];
};

template <class P>
using OperandTile = Fragment<typename P::Operand>;

// What rounding took from an operand is kept as an operand too, times this: as far from the
// subnormal numbers as the operand itself.
template <class Operand>
constexpr float kRestScale = 1.0f;
template <>
inline constexpr float kRestScale<Fp16> = 2048.0f;

// A right operand Bt in the order in which the 16-bit instruction takes it, so that no register moves on the way: pairs
// {0, 1} are the left and right half of rows 0 .. 7, {2, 3} those of rows 8 .. 15. (fp32: as Fragment.)
template <class Operand>
struct RightFragment {
  uint32_t pair[4];
};
template <>
struct RightFragment<float> : Fragment<float> {};

template <class P>
using RightTile = RightFragment<typename P::Operand>;

__device__ __forceinline__ void clear(Accumulator& c) {
#pragma unroll
  for (int i = 0; i < 8; ++i) c.x[i] = 0.0f;
}

template <int N>
__device__ __forceinline__ void clear(Accumulator (&c)[N]) {
#pragma unroll
  for (int n = 0; n < N; ++n) clear(c[n]);
}

template <int M, int N>
__device__ __forceinline__ void clear(Accumulator (&c)[M][N]) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int n = 0; n < N; ++n) clear(c[m][n]);
}

// The operand with the accumulator's values (rounded to 16 bits where the operand is; tf32 rounds
// in multiply).
template <class Operand>
__device__ __forceinline__ Fragment<Operand> to_operand(const Accumulator& c) {
  Fragment<Operand> f;
#pragma unroll
  for (int p = 0; p < 4; ++p) f.pair[p] = pack2<Operand>(c.x[2 * p], c.x[2 * p + 1]);
  return f;
}
template <>
__device__ __forceinline__ Fragment<float> to_operand<float>(const Accumulator& c) {
  Fragment<float> f;
#pragma unroll
  for (int i = 0; i < 8; ++i) f.x[i] = c.x[i];
  return f;
}

template <class Operand>
__device__ __forceinline__ Fragment<Operand> negate(const Fragment<Operand>& f) {
  Fragment<Operand> minus;
#pragma unroll
  for (int p = 0; p < 4; ++p) minus.pair[p] = f.pair[p] ^ 0x80008000u;
  return minus;
}
template <>
__device__ __forceinline__ Fragment<float> negate<float>(const Fragment<float>& f) {
  Fragment<float> minus;
#pragma unroll
  for (int i = 0; i < 8; ++i) minus.x[i] = -f.x[i];
  return minus;
}

template <class Operand>
__device__ __forceinline__ Accumulator to_accumulator(const Fragment<Operand>& f) {
  Accumulator c;
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    c.x[2 * p] = low_of<Operand>(f.pair[p]);
    c.x[2 * p + 1] = high_of<Operand>(f.pair[p]);
  }
  return c;
}
template <>
__device__ __forceinline__ Accumulator to_accumulator<float>(const Fragment<float>& f) {
  Accumulator c;
#pragma unroll
  for (int i = 0; i < 8; ++i) c.x[i] = f.x[i];
  return c;
}

// The right operand with the values of a tile Bt.
template <class Operand>
__device__ __forceinline__ RightFragment<Operand> to_right(const Accumulator& bt) {
  if constexpr (sizeof(Operand) == 4) {
    return {to_operand<Operand>(bt)};
  } else {
    return {{pack2<Operand>(bt.x[0], bt.x[1]), pack2<Operand>(bt.x[4], bt.x[5]), pack2<Operand>(bt.x[2], bt.x[3]),
             pack2<Operand>(bt.x[6], bt.x[7])}};
  }
}

// The values of a right operand as a tile Bt.
template <class Operand>
__device__ __forceinline__ Accumulator to_accumulator(const RightFragment<Operand>& bt) {
  if constexpr (sizeof(Operand) == 4) {
    return to_accumulator<Operand>(static_cast<const Fragment<Operand>&>(bt));
  } else {
    return to_accumulator<Operand>(Fragment<Operand>{{bt.pair[0], bt.pair[2], bt.pair[1], bt.pair[3]}});
  }
}

}  // namespace gdr2::cuda
