// SPDX-License-Identifier: Apache-2.0
// Products of 16 x 16 tiles under a product policy: multiply<P>(c, a, bt) adds A Bt^T to c, where
// bt is the right operand's transpose. multiply_shared does it for a warp's M x N tiles straight
// from shared memory.
#pragma once

#include <type_traits>

#include "kernels/cuda/device/fragment.cuh"
#include "kernels/cuda/device/fragment_memory.cuh"
#include "kernels/cuda/device/math.cuh"

namespace gdr2::cuda {

#if !defined(GDR2_CUDA_ON_HOST)
// m16n8k16: one half (8 columns) of the accumulator.
__device__ __forceinline__ void mma_16816(float* c, const uint32_t (&a)[4], uint32_t b0,
                                          uint32_t b1, Bf16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_16816(float* c, const uint32_t (&a)[4], uint32_t b0,
                                          uint32_t b1, Fp16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_1688(float* c, float a0, float a1, float a2, float a3, float b0,
                                         float b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(bits_of(a0)), "r"(bits_of(a1)), "r"(bits_of(a2)), "r"(bits_of(a3)), "r"(bits_of(b0)),
        "r"(bits_of(b1)));
}
#else
inline void mma_16816(float* c, const uint32_t (&a)[4], uint32_t b0, uint32_t b1, Bf16) {
  on_host::mma_bf16(c, a, b0, b1);
}
inline void mma_16816(float* c, const uint32_t (&a)[4], uint32_t b0, uint32_t b1, Fp16) {
  on_host::mma_fp16(c, a, b0, b1);
}
inline void mma_1688(float* c, float a0, float a1, float a2, float a3, float b0, float b1) {
  on_host::mma_tf32(c, {a0, a1, a2, a3}, {b0, b1});
}
#endif

// 16-bit operands: the instruction takes its 8-column halves of B as the row halves of Bt.
template <class Operand>
__device__ __forceinline__ void multiply_tiles(Accumulator& c, const Fragment<Operand>& a,
                                               const Fragment<Operand>& bt) {
  mma_16816(c.x, a.pair, bt.pair[0], bt.pair[2], Operand{});
  mma_16816(c.x + 4, a.pair, bt.pair[1], bt.pair[3], Operand{});
}

// tf32: two steps of 8 in k. The instruction's k = l%4 and k = l%4 + 4 are the columns 2(l%4) and
// 2(l%4) + 1 here, in A and in Bt: a permutation of the sum's terms.
__device__ __forceinline__ void multiply_tf32(Accumulator& c, const float (&x)[8],
                                              const float (&y)[8]) {
#pragma unroll
  for (int k = 0; k < 8; k += 4)
#pragma unroll
    for (int n = 0; n < 2; ++n)
      mma_1688(c.x + 4 * n, x[k], x[k + 2], x[k + 1], x[k + 3], y[k + 2 * n], y[k + 2 * n + 1]);
}

// IEEE fp32: every lane fetches the rows of A and Bt that its sums need from the lanes that own
// them.
__device__ __forceinline__ void multiply_fp32(Accumulator& c, const Fragment<float>& a,
                                              const Fragment<float>& bt) {
  const int row = lane_index() & ~3, column = 8 * (lane_index() % 4);
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    const int owner = k % 8 / 2, i = k % 2 + 4 * (k / 8);
    const float upper = shuffle(a.x[i], row + owner), lower = shuffle(a.x[i + 2], row + owner);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      const float left = shuffle(bt.x[i + 2 * n], column + owner);
      const float right = shuffle(bt.x[i + 2 * n], column + 4 + owner);
      c.x[4 * n] = fma_(upper, left, c.x[4 * n]);
      c.x[4 * n + 1] = fma_(upper, right, c.x[4 * n + 1]);
      c.x[4 * n + 2] = fma_(lower, left, c.x[4 * n + 2]);
      c.x[4 * n + 3] = fma_(lower, right, c.x[4 * n + 3]);
    }
  }
}

// x as P's products take it, where the operand's type does not say so already.
template <class P>
__device__ __forceinline__ float rounded(float x) {
  return std::is_same_v<P, Tf32Products> ? round_to_tf32(x) : x;
}
template <class P>
__device__ __forceinline__ OperandTile<P> rounded(const OperandTile<P>& f) {
  if constexpr (std::is_same_v<P, Tf32Products>) {
    Fragment<float> r;
#pragma unroll
    for (int i = 0; i < 8; ++i) r.x[i] = round_to_tf32(f.x[i]);
    return r;
  } else {
    return f;
  }
}

// x minus what it is as operand.
template <class P>
__device__ __forceinline__ Accumulator rest_of(const Accumulator& x) {
  using Operand = typename P::Operand;
  const Accumulator operand = to_accumulator<Operand>(rounded<P>(to_operand<Operand>(x)));
  Accumulator rest;
#pragma unroll
  for (int e = 0; e < 8; ++e) rest.x[e] = x.x[e] - operand.x[e];
  return rest;
}

// c += A B, with bt = B^T.
template <class P>
__device__ __forceinline__ void multiply(Accumulator& c, const OperandTile<P>& a,
                                         const OperandTile<P>& bt) {
  multiply_tiles(c, a, bt);
}
template <>
__device__ __forceinline__ void multiply<Tf32Products>(Accumulator& c, const Fragment<float>& a,
                                                       const Fragment<float>& bt) {
  multiply_tf32(c, rounded<Tf32Products>(a).x, rounded<Tf32Products>(bt).x);
}
template <>
__device__ __forceinline__ void multiply<Fp32Products>(Accumulator& c, const Fragment<float>& a,
                                                       const Fragment<float>& bt) {
  multiply_fp32(c, a, bt);
}

// The same for operands that are rounded already.
template <class P>
__device__ __forceinline__ void multiply_rounded(Accumulator& c, const OperandTile<P>& a,
                                                 const OperandTile<P>& bt) {
  if constexpr (std::is_same_v<P, Tf32Products>) {
    multiply_tf32(c, a.x, bt.x);
  } else {
    multiply<P>(c, a, bt);
  }
}

// The same with the right operand in the instruction's order.
template <class P>
__device__ __forceinline__ void multiply(Accumulator& c, const OperandTile<P>& a,
                                         const RightTile<P>& bt) {
  if constexpr (sizeof(typename P::Operand) == 4) {
    multiply<P>(c, a, static_cast<const OperandTile<P>&>(bt));
  } else {
    mma_16816(c.x, a.pair, bt.pair[0], bt.pair[1], typename P::Operand{});
    mma_16816(c.x + 4, a.pair, bt.pair[2], bt.pair[3], typename P::Operand{});
  }
}

// The product with the first 8 columns of the right operand, to the last 8 of c; 16-bit operands.
template <class P>
__device__ __forceinline__ void multiply_to_right_half(Accumulator& c, const OperandTile<P>& a,
                                                       const RightTile<P>& bt) {
  mma_16816(c.x + 4, a.pair, bt.pair[0], bt.pair[1], typename P::Operand{});
}

// How an operand of multiply_shared lies in memory: kRows: A [m][k], Bt [n][k]; kTransposed: A
// [k][m], B [k][n].
enum class Storage { kRows, kTransposed };

template <Storage S, class Operand>
__device__ __forceinline__ Fragment<Operand> load_tile(const Operand* matrix, int ld, int row,
                                                       int k) {
  if constexpr (S == Storage::kRows) {
    return load(matrix + row * ld + k, ld);
  } else {
    return load_transposed(matrix + k * ld + row, ld);
  }
}

// A warp's product from shared memory: c[m][n] += sum over k of A tile (m, k) times B tile (k,
// n), for k in [0, depth) elements (a multiple of 16). `a` points at A(0, 0), `b` at B(0, 0) of
// the warp's part.
template <class P, Storage SA, Storage SB, int M, int N>
__device__ __forceinline__ void multiply_shared(Accumulator (&c)[M][N],
                                                const typename P::Operand* a, int lda,
                                                const typename P::Operand* b, int ldb, int depth) {
#pragma unroll 2
  for (int k = 0; k < depth; k += kTile) {
    OperandTile<P> left[M];
#pragma unroll
    for (int m = 0; m < M; ++m) left[m] = load_tile<SA>(a, lda, m * kTile, k);
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const OperandTile<P> right = load_tile<SB>(b, ldb, n * kTile, k);
#pragma unroll
      for (int m = 0; m < M; ++m) multiply<P>(c[m][n], left[m], right);
    }
  }
}

}  // namespace gdr2::cuda
