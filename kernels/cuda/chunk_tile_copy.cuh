// SPDX-License-Identifier: Apache-2.0
// Filling chunk tiles in shared memory: from a tile in memory (a plain copy) or from 64 token rows
// of a strided tensor. Copies are asynchronous where 16-byte accesses are allowed, so copy_commit,
// copy_wait and a barrier follow. Masks are on the loads: a masked element is zero and its address
// is not touched.
#pragma once

#include "kernels/cuda/device/memory.cuh"
#include "kernels/cuda/intermediates.hpp"

namespace gdr2::cuda {

template <int Threads, class T>
__device__ __forceinline__ void copy_tile_async(T* tile, const T* source, int thread) {
  constexpr int kUnit = 16 / sizeof(T);
#pragma unroll
  for (int i = 0; i < kTileElements / kUnit; i += Threads)
    copy_async_16(tile + thread * kUnit + i * kUnit, source + thread * kUnit + i * kUnit);
}

// Every `Step`-th of `Rows` rows of a tile with leading dimension ld, 16 bytes each: this thread's
// first row is `row`, whose 16 bytes go from source to tile; the source's rows are `stride` apart.
// Rows >= rows read as zero, all if not inside; `live` is any address in a live buffer.
template <int Step, int Rows, class T>
__device__ __forceinline__ void copy_rows_async(T* tile, int ld, const T* source, int64_t stride,
                                                int row, int rows, bool inside, const T* live) {
  const int64_t step = not_hoisted(Step * stride);
#pragma unroll
  for (int r = 0; r < Rows; r += Step, source += step) {
    const bool valid = inside && row + r < rows;
    copy_async_16(tile + r * ld, valid ? source : live, valid);
  }
}

// A piece of a row that does not allow 16-byte accesses: `aligned` bytes (8 or 4; 0: one element), or
// zeros when not valid.
template <class T>
__device__ __forceinline__ void copy_unaligned_piece(T* target, const T* source, int aligned,
                                                     bool valid) {
  if (aligned == 8) {
    copy_async_small<8>(target, source, valid);
  } else if (aligned == 4) {
    copy_async_small<4>(target, source, valid);
  } else {
    *target = valid ? *source : T{};
  }
}
template <class T>
__device__ __forceinline__ int elements_of_piece(int aligned) {
  return aligned > 0 ? aligned / static_cast<int>(sizeof(T)) : 1;
}

// 64 rows of `Columns` elements of a tensor whose rows do not allow 16-byte accesses, in the widest
// pieces that they do (TokenTensor::aligned): element (r, c) of `source`, rows `stride` apart, goes
// to tile[Place{}(r, c)], or zero when it is not in the first `rows` rows and `columns` columns.
// Pieces of 8 bytes of a row stay together. A call, since what it is part of has no register to
// spare.
template <int Columns, int Threads, class Place, class T>
GDR2_NOINLINE __device__ void copy_unaligned_rows(T* tile, const T* source, int64_t stride,
                                                  int aligned, int rows, int columns, int thread) {
  const int step = elements_of_piece<T>(aligned);
#pragma unroll 1
  for (int i = thread * step; i < kChunk * Columns; i += Threads * step) {
    const int r = i / Columns, c = i % Columns;
    const bool valid = r < rows && c < columns;
    copy_unaligned_piece(tile + Place{}(r, c), valid ? source + r * stride + c : source, aligned,
                         valid);
  }
}

// Columns begin .. begin + (16 << log_columns16) - 1 of the tile, from rows source + r * stride
// whose element 0 belongs to column 0: valid are r < rows and columns < channels. `source` is in a
// live buffer even when nothing is valid.
template <int Threads, class T>
__device__ __forceinline__ void copy_rows_async(T* tile, const T* source, int64_t stride, int rows,
                                                int channels, int begin, int log_columns16,
                                                bool vector, int thread) {
  constexpr int kUnit = 16 / sizeof(T);
  if (vector) {
    const int shift = log_columns16 + (sizeof(T) == 2 ? 1 : 2);
    for (int i = thread; i < kChunk << shift; i += Threads) {
      const int r = i >> shift, c = begin + (i - (r << shift)) * kUnit;
      const bool valid = r < rows && c < channels;
      copy_async_16(tile + chunk_tile_at<T>(r, c), valid ? source + r * stride + c : source, valid);
    }
  } else {
    const int shift = log_columns16 + 4;
    for (int i = thread; i < kChunk << shift; i += Threads) {
      const int r = i >> shift, c = begin + i - (r << shift);
      tile[chunk_tile_at<T>(r, c)] = r < rows && c < channels ? source[r * stride + c] : T{};
    }
  }
}

}  // namespace gdr2::cuda
