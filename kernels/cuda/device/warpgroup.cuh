// SPDX-License-Identifier: Apache-2.0
// Hopper's products of a warpgroup (4 neighbouring warps, the first a multiple of 4) from shared
// memory, 16-bit operands, fp32 sums in registers:
//
//     D [64, 16 Strips] = or += or -= A [64, 64] B [64, 16 Strips],  Strips 2, 4 or 8
//
// A and B lie as they are or transposed, in rows of 64 elements whose 16-byte units
// are permuted by the row (product_tile_at, the engine's 128-byte swizzle), at addresses that are
// multiples of 1024. Warp w of the group holds rows 16 w .. 16 w + 15 of D, as one Accumulator a
// strip of 16 columns.
//
// A product is started, not done: begin_products() (after the last ordinary access to D), products,
// commit_products(), and wait_products<Pending>() before D or the operands' memory are touched.
#pragma once

#include "kernels/cuda/device/bulk.cuh"
#include "kernels/cuda/device/fragment.cuh"

namespace gdr2::cuda {

constexpr int kWarpgroup = 4 * kWarp;

// The registers a thread has from here on, for all warps of a warpgroup: a multiple of 8. A kernel
// starts with as many for each and gives those of one warpgroup to the others.
template <int Count>
__device__ __forceinline__ void raise_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
#endif
}
template <int Count>
__device__ __forceinline__ void lower_registers() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
#endif
}

constexpr int kProductTile = 64;

// Element (row, column) of an operand.
__host__ __device__ __forceinline__ constexpr int product_tile_at(int row, int column) {
  return row * kProductTile + (((column / 8) ^ (row % 8)) * 8) + column % 8;
}

enum class LeftStorage { kRows, kTransposed };   // A [row, k], or [k, row]
enum class RightStorage { kRows, kTransposed };  // B [k, column], or [column, k]
enum class Product { kSet, kAdd, kSubtract };    // D = A B, D += A B, D -= A B

#if defined(GDR2_CUDA_ON_HOST)

inline void begin_products() {}
inline void commit_products() {}
template <int Pending>
void wait_products() {}

template <LeftStorage A, Product How, RightStorage B = RightStorage::kTransposed, class Operand,
          int Strips>
void start_product(Accumulator (&d)[Strips], const Operand* a, const Operand* b) {
  on_host::check_warpgroup_operand(a, kProductTile * kProductTile * sizeof(Operand));
  on_host::check_warpgroup_operand(b, Strips * kTile * kProductTile * sizeof(Operand));
  const int first = warp_index() % 4 * kTile;
  for (int s = 0; s < Strips; ++s)
    for (int i = 0; i < 8; ++i) {
      const int row = first + tile_row(i), column = s * kTile + tile_col(i);
      float sum = How == Product::kSet ? 0.0f : d[s].x[i];
      for (int k = 0; k < kProductTile; k += kTile) {
        double part = 0;
        for (int n = k; n < k + kTile; ++n)
          part +=
              double(to_float(
                  a[A == LeftStorage::kRows ? product_tile_at(row, n) : product_tile_at(n, row)])) *
              to_float(b[B == RightStorage::kRows ? product_tile_at(n, column)
                                                  : product_tile_at(column, n)]);
        sum = static_cast<float>(How == Product::kSubtract ? sum - part : sum + part);
      }
      d[s].x[i] = sum;
    }
}

#else

__device__ __forceinline__ void begin_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void commit_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
template <int Pending>
__device__ __forceinline__ void wait_products() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
#endif
}

// 128-byte swizzle; 8 rows of 128 bytes apart from the next 8, in either direction.
__device__ __forceinline__ uint64_t product_descriptor(const void* tile) {
  constexpr uint64_t kSwizzle128 = 1ull << 62, kEightRows = 1024 / 16;
  return kSwizzle128 | kEightRows << 32 | kEightRows << 16 | (shared_address(tile) & 0x3ffff) >> 4;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <bool kLeftTransposed, bool kRightTransposed, int kSign>
__device__ __forceinline__ void wgmma(Accumulator (&d)[2], uint64_t a, uint64_t bt, int add, Bf16) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "%16, %17, p, %20, 1, %19, %21;\n}\n"
      : "+f"(d[0].x[0]), "+f"(d[0].x[1]), "+f"(d[0].x[2]), "+f"(d[0].x[3]), "+f"(d[0].x[4]),
        "+f"(d[0].x[5]), "+f"(d[0].x[6]), "+f"(d[0].x[7]), "+f"(d[1].x[0]), "+f"(d[1].x[1]),
        "+f"(d[1].x[2]), "+f"(d[1].x[3]), "+f"(d[1].x[4]), "+f"(d[1].x[5]), "+f"(d[1].x[6]),
        "+f"(d[1].x[7])
      : "l"(a), "l"(bt), "r"(add), "n"(kLeftTransposed ? 1 : 0), "n"(kSign),
        "n"(kRightTransposed ? 0 : 1));
}
template <bool kLeftTransposed, bool kRightTransposed, int kSign>
__device__ __forceinline__ void wgmma(Accumulator (&d)[2], uint64_t a, uint64_t bt, int add, Fp16) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, "
      "%16, %17, p, %20, 1, %19, %21;\n}\n"
      : "+f"(d[0].x[0]), "+f"(d[0].x[1]), "+f"(d[0].x[2]), "+f"(d[0].x[3]), "+f"(d[0].x[4]),
        "+f"(d[0].x[5]), "+f"(d[0].x[6]), "+f"(d[0].x[7]), "+f"(d[1].x[0]), "+f"(d[1].x[1]),
        "+f"(d[1].x[2]), "+f"(d[1].x[3]), "+f"(d[1].x[4]), "+f"(d[1].x[5]), "+f"(d[1].x[6]),
        "+f"(d[1].x[7])
      : "l"(a), "l"(bt), "r"(add), "n"(kLeftTransposed ? 1 : 0), "n"(kSign),
        "n"(kRightTransposed ? 0 : 1));
}
template <bool kLeftTransposed, bool kRightTransposed, int kSign>
__device__ __forceinline__ void wgmma(Accumulator (&d)[4], uint64_t a, uint64_t bt, int add, Bf16) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, %36, 1, %35, %37;\n}\n"
      : "+f"(d[0].x[0]), "+f"(d[0].x[1]), "+f"(d[0].x[2]), "+f"(d[0].x[3]), "+f"(d[0].x[4]),
        "+f"(d[0].x[5]), "+f"(d[0].x[6]), "+f"(d[0].x[7]), "+f"(d[1].x[0]), "+f"(d[1].x[1]),
        "+f"(d[1].x[2]), "+f"(d[1].x[3]), "+f"(d[1].x[4]), "+f"(d[1].x[5]), "+f"(d[1].x[6]),
        "+f"(d[1].x[7]), "+f"(d[2].x[0]), "+f"(d[2].x[1]), "+f"(d[2].x[2]), "+f"(d[2].x[3]),
        "+f"(d[2].x[4]), "+f"(d[2].x[5]), "+f"(d[2].x[6]), "+f"(d[2].x[7]), "+f"(d[3].x[0]),
        "+f"(d[3].x[1]), "+f"(d[3].x[2]), "+f"(d[3].x[3]), "+f"(d[3].x[4]), "+f"(d[3].x[5]),
        "+f"(d[3].x[6]), "+f"(d[3].x[7])
      : "l"(a), "l"(bt), "r"(add), "n"(kLeftTransposed ? 1 : 0), "n"(kSign),
        "n"(kRightTransposed ? 0 : 1));
}
template <bool kLeftTransposed, bool kRightTransposed, int kSign>
__device__ __forceinline__ void wgmma(Accumulator (&d)[4], uint64_t a, uint64_t bt, int add, Fp16) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
      "%32, %33, p, %36, 1, %35, %37;\n}\n"
      : "+f"(d[0].x[0]), "+f"(d[0].x[1]), "+f"(d[0].x[2]), "+f"(d[0].x[3]), "+f"(d[0].x[4]),
        "+f"(d[0].x[5]), "+f"(d[0].x[6]), "+f"(d[0].x[7]), "+f"(d[1].x[0]), "+f"(d[1].x[1]),
        "+f"(d[1].x[2]), "+f"(d[1].x[3]), "+f"(d[1].x[4]), "+f"(d[1].x[5]), "+f"(d[1].x[6]),
        "+f"(d[1].x[7]), "+f"(d[2].x[0]), "+f"(d[2].x[1]), "+f"(d[2].x[2]), "+f"(d[2].x[3]),
        "+f"(d[2].x[4]), "+f"(d[2].x[5]), "+f"(d[2].x[6]), "+f"(d[2].x[7]), "+f"(d[3].x[0]),
        "+f"(d[3].x[1]), "+f"(d[3].x[2]), "+f"(d[3].x[3]), "+f"(d[3].x[4]), "+f"(d[3].x[5]),
        "+f"(d[3].x[6]), "+f"(d[3].x[7])
      : "l"(a), "l"(bt), "r"(add), "n"(kLeftTransposed ? 1 : 0), "n"(kSign),
        "n"(kRightTransposed ? 0 : 1));
}
template <bool kLeftTransposed, bool kRightTransposed, int kSign>
__device__ __forceinline__ void wgmma(Accumulator (&d)[8], uint64_t a, uint64_t bt, int add, Bf16) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
      "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, %68, 1, %67, %69;\n}\n"
      : "+f"(d[0].x[0]), "+f"(d[0].x[1]), "+f"(d[0].x[2]), "+f"(d[0].x[3]), "+f"(d[0].x[4]),
        "+f"(d[0].x[5]), "+f"(d[0].x[6]), "+f"(d[0].x[7]), "+f"(d[1].x[0]), "+f"(d[1].x[1]),
        "+f"(d[1].x[2]), "+f"(d[1].x[3]), "+f"(d[1].x[4]), "+f"(d[1].x[5]), "+f"(d[1].x[6]),
        "+f"(d[1].x[7]), "+f"(d[2].x[0]), "+f"(d[2].x[1]), "+f"(d[2].x[2]), "+f"(d[2].x[3]),
        "+f"(d[2].x[4]), "+f"(d[2].x[5]), "+f"(d[2].x[6]), "+f"(d[2].x[7]), "+f"(d[3].x[0]),
        "+f"(d[3].x[1]), "+f"(d[3].x[2]), "+f"(d[3].x[3]), "+f"(d[3].x[4]), "+f"(d[3].x[5]),
        "+f"(d[3].x[6]), "+f"(d[3].x[7]), "+f"(d[4].x[0]), "+f"(d[4].x[1]), "+f"(d[4].x[2]),
        "+f"(d[4].x[3]), "+f"(d[4].x[4]), "+f"(d[4].x[5]), "+f"(d[4].x[6]), "+f"(d[4].x[7]),
        "+f"(d[5].x[0]), "+f"(d[5].x[1]), "+f"(d[5].x[2]), "+f"(d[5].x[3]), "+f"(d[5].x[4]),
        "+f"(d[5].x[5]), "+f"(d[5].x[6]), "+f"(d[5].x[7]), "+f"(d[6].x[0]), "+f"(d[6].x[1]),
        "+f"(d[6].x[2]), "+f"(d[6].x[3]), "+f"(d[6].x[4]), "+f"(d[6].x[5]), "+f"(d[6].x[6]),
        "+f"(d[6].x[7]), "+f"(d[7].x[0]), "+f"(d[7].x[1]), "+f"(d[7].x[2]), "+f"(d[7].x[3]),
        "+f"(d[7].x[4]), "+f"(d[7].x[5]), "+f"(d[7].x[6]), "+f"(d[7].x[7])
      : "l"(a), "l"(bt), "r"(add), "n"(kLeftTransposed ? 1 : 0), "n"(kSign),
        "n"(kRightTransposed ? 0 : 1));
}
template <bool kLeftTransposed, bool kRightTransposed, int kSign>
__device__ __forceinline__ void wgmma(Accumulator (&d)[8], uint64_t a, uint64_t bt, int add, Fp16) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
      "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, %68, 1, %67, %69;\n}\n"
      : "+f"(d[0].x[0]), "+f"(d[0].x[1]), "+f"(d[0].x[2]), "+f"(d[0].x[3]), "+f"(d[0].x[4]),
        "+f"(d[0].x[5]), "+f"(d[0].x[6]), "+f"(d[0].x[7]), "+f"(d[1].x[0]), "+f"(d[1].x[1]),
        "+f"(d[1].x[2]), "+f"(d[1].x[3]), "+f"(d[1].x[4]), "+f"(d[1].x[5]), "+f"(d[1].x[6]),
        "+f"(d[1].x[7]), "+f"(d[2].x[0]), "+f"(d[2].x[1]), "+f"(d[2].x[2]), "+f"(d[2].x[3]),
        "+f"(d[2].x[4]), "+f"(d[2].x[5]), "+f"(d[2].x[6]), "+f"(d[2].x[7]), "+f"(d[3].x[0]),
        "+f"(d[3].x[1]), "+f"(d[3].x[2]), "+f"(d[3].x[3]), "+f"(d[3].x[4]), "+f"(d[3].x[5]),
        "+f"(d[3].x[6]), "+f"(d[3].x[7]), "+f"(d[4].x[0]), "+f"(d[4].x[1]), "+f"(d[4].x[2]),
        "+f"(d[4].x[3]), "+f"(d[4].x[4]), "+f"(d[4].x[5]), "+f"(d[4].x[6]), "+f"(d[4].x[7]),
        "+f"(d[5].x[0]), "+f"(d[5].x[1]), "+f"(d[5].x[2]), "+f"(d[5].x[3]), "+f"(d[5].x[4]),
        "+f"(d[5].x[5]), "+f"(d[5].x[6]), "+f"(d[5].x[7]), "+f"(d[6].x[0]), "+f"(d[6].x[1]),
        "+f"(d[6].x[2]), "+f"(d[6].x[3]), "+f"(d[6].x[4]), "+f"(d[6].x[5]), "+f"(d[6].x[6]),
        "+f"(d[6].x[7]), "+f"(d[7].x[0]), "+f"(d[7].x[1]), "+f"(d[7].x[2]), "+f"(d[7].x[3]),
        "+f"(d[7].x[4]), "+f"(d[7].x[5]), "+f"(d[7].x[6]), "+f"(d[7].x[7])
      : "l"(a), "l"(bt), "r"(add), "n"(kLeftTransposed ? 1 : 0), "n"(kSign),
        "n"(kRightTransposed ? 0 : 1));
}
#endif

template <LeftStorage A, Product How, RightStorage B = RightStorage::kTransposed, class Operand,
          int Strips>
__device__ __forceinline__ void start_product(Accumulator (&d)[Strips], const Operand* a,
                                              const Operand* b) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  static_assert(B == RightStorage::kTransposed || Strips * kTile == kProductTile);
  constexpr bool kLeftTransposed = A == LeftStorage::kTransposed,
                 kRightTransposed = B == RightStorage::kTransposed;
  // 16 further in k, in units of 16 bytes
  constexpr int kAlongRow = kTile * 2 / 16, kAcrossRows = kTile * kProductTile * 2 / 16;
  const uint64_t left = product_descriptor(a), right = product_descriptor(b);
#pragma unroll
  for (int k = 0; k < kProductTile / kTile; ++k)
    wgmma<kLeftTransposed, kRightTransposed, How == Product::kSubtract ? -1 : 1>(
        d, left + k * (kLeftTransposed ? kAcrossRows : kAlongRow),
        right + k * (kRightTransposed ? kAlongRow : kAcrossRows), How != Product::kSet || k > 0,
        Operand{});
#endif
}

#endif

}  // namespace gdr2::cuda
