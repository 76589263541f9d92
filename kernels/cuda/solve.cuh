// SPDX-License-Identifier: Apache-2.0
// X = (I + T)^-1 for a strictly lower triangular 64 x 64 T in shared memory, in place, in fp32
// fused multiply-adds, by 256 threads. The four diagonal 16 x 16 blocks by substitution, then twice
// the size twice by
//
//     [ X11           ]
//     [ X21       X22 ]     X21 = -X22 (T21 X11)
//
// Row i of X depends on rows <= i of T alone. What stands above the diagonal is neither read nor
// set outside the diagonal blocks.
#pragma once

#include "kernels/cuda/prep_scores.cuh"

namespace gdr2::cuda {

constexpr int kDiagonal = 16;
constexpr int kHalf = kChunk / 2;
constexpr int kScratchLd = kHalf + 4;  // of the scratch [32, 32]

__device__ __forceinline__ Pack<float, 4> four_of(const float* row) {
  return *reinterpret_cast<const Pack<float, 4>*>(row);
}

// sum += a[row][first, last) b[first, last)[column, +4), in steps of 4.
__device__ __forceinline__ void add_products(float (&sum)[4], const float* a_row,
                                             const float* b_column, int ldb, int first, int last) {
#pragma unroll 1  // rolled: what prep's warps execute does not fit into the instruction caches
  for (int k = first; k < last; k += 4) {
    const Pack<float, 4> a = four_of(a_row + k);
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      const Pack<float, 4> b = four_of(b_column + (k + n) * ldb);
#pragma unroll
      for (int c = 0; c < 4; ++c) sum[c] = fma_(a[n], b[c], sum[c]);
    }
  }
}

__device__ __forceinline__ void store_four(float* target, float sign, const float (&x)[4]) {
  *reinterpret_cast<Pack<float, 4>*>(target) = {
      {sign * x[0], sign * x[1], sign * x[2], sign * x[3]}};
}

// The diagonal blocks by threads 0 .. 63, a column each; zeros above the diagonal.
__device__ __forceinline__ void invert_diagonal_blocks(float* T, int thread) {
  const int j = thread % kDiagonal, first = thread - j;
  float* block = T + first * kMatrixLd + first;
  float x[kDiagonal];
#pragma unroll
  for (int i = 0; i < kDiagonal; ++i) {
    float sum = i == j ? 1.0f : 0.0f;
#pragma unroll
    for (int m = 0; m < i; m += 4) {
      const Pack<float, 4> t = four_of(block + i * kMatrixLd + m);
#pragma unroll
      for (int n = 0; n < 4; ++n)
        if (m + n < i) sum = fma_(-t[n], x[m + n], sum);
    }
    x[i] = sum;
  }
  sync_warp();  // a block's columns are one warp's
#pragma unroll
  for (int i = 0; i < kDiagonal; ++i) block[i * kMatrixLd + j] = x[i];
}

// The blocks (1, 0) and (3, 2) of 16 rows, by 64 threads each.
__device__ __forceinline__ void join_pairs(float* T, float* scratch, int thread) {
  const int pair = thread / 64, row = thread % 64 / 4, column = thread % 4 * 4;
  float* upper = T + 2 * pair * kDiagonal * (kMatrixLd + 1);
  float *lower = upper + kDiagonal * kMatrixLd, *product = scratch + pair * kDiagonal * kScratchLd;
  float sum[4] = {};
  if (pair < 2) {
    add_products(sum, lower + row * kMatrixLd, upper + column, kMatrixLd, column, kDiagonal);
    store_four(product + row * kScratchLd + column, 1.0f, sum);
  }
  sync_threads();
  if (pair < 2) {
    float x[4] = {};
    add_products(x, lower + row * kMatrixLd + kDiagonal, product + column, kScratchLd, 0,
                 kDiagonal);
    store_four(lower + row * kMatrixLd + column, -1.0f, x);
  }
  sync_threads();
}

// The lower left quarter. Warps take 4 columns in the first product and 4 rows in the second, and
// so skip X's zeros.
__device__ __forceinline__ void join_halves(float* T, float* scratch, ThreadPlace at) {
  float *lower = T + kHalf * kMatrixLd, sum[4] = {}, x[4] = {};
  const int columns = 4 * at.warp;
  add_products(sum, lower + at.lane * kMatrixLd, T + columns, kMatrixLd, columns, kHalf);
  store_four(scratch + at.lane * kScratchLd + columns, 1.0f, sum);
  sync_threads();
  const int row = columns + at.lane / 8, column = at.lane % 8 * 4;
  add_products(x, lower + row * kMatrixLd + kHalf, scratch + column, kScratchLd, 0, columns + 4);
  store_four(lower + row * kMatrixLd + column, -1.0f, x);
  sync_threads();
}

// The rest, once the diagonal blocks stand. scratch: [32, 32]. Barriers inside and at the end.
__device__ __forceinline__ void join_inverted_blocks(float* T, float* scratch) {
  const ThreadPlace at = ThreadPlace::here();
  join_pairs(T, scratch, at.thread());
  join_halves(T, scratch, at);
}

}  // namespace gdr2::cuda
