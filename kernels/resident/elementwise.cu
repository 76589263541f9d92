// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/convert.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "kernels/cuda/device/warp.cuh"
#include "kernels/resident/elementwise.hpp"

namespace gdr2::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kPairsOfThread = 8;
constexpr int kBlocksOfProcessor = 16;

__device__ double load(const std::byte* data, DType dtype, int64_t at) {
  switch (dtype) {
    case DType::kF64: return reinterpret_cast<const double*>(data)[at];
    case DType::kF32: return reinterpret_cast<const float*>(data)[at];
    case DType::kBF16: return to_float(reinterpret_cast<const Bf16*>(data)[at]);
    case DType::kF16: break;
  }
  return to_float(reinterpret_cast<const Fp16*>(data)[at]);
}

__device__ void store(std::byte* data, DType dtype, int64_t at, double x) {
  switch (dtype) {
    case DType::kF64: reinterpret_cast<double*>(data)[at] = x; return;
    case DType::kF32: reinterpret_cast<float*>(data)[at] = float(x); return;
    case DType::kBF16: reinterpret_cast<Bf16*>(data)[at] = from_float<Bf16>(float(x)); return;
    case DType::kF16: reinterpret_cast<Fp16*>(data)[at] = from_float<Fp16>(float(x)); return;
  }
}

/// This thread's first pair, and how far its next ones lie apart.
struct Stride {
  int64_t first, step;
};
__device__ Stride stride_of_thread() {
  return {int64_t(block_index().x) * kThreads + thread_index(), int64_t(grid_size().x) * kThreads};
}

__global__ void __launch_bounds__(kThreads)
    transform_kernel(ElementPairs p, double factor, double shift) {
  const int64_t count = p.count();
  const Stride s = stride_of_thread();
  for (int64_t i = s.first; i < count; i += s.step) {
    const auto at = p.place(i);
    store(p.a, p.a_dtype, at.a, factor == 0 ? shift : factor * load(p.b, p.b_dtype, at.b) + shift);
  }
}

/// The sum over the CTA, in its first thread.
__device__ Mismatches sum_of_block(Mismatches found) {
  auto* of_warps = &shared_as<Mismatches>();
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2)
    found.add({shuffle_xor(found.count, mask), shuffle_xor(found.first, mask)});
  if (lane_index() == 0) of_warps[warp_index()] = found;
  sync_threads();
  if (thread_index() == 0)
    for (int w = 1; w < kThreads / kWarp; ++w) found.add(of_warps[w]);
  return found;
}

__global__ void __launch_bounds__(kThreads) compare_kernel(ElementPairs p, Mismatches* of_blocks) {
  const int64_t count = p.count();
  const Stride s = stride_of_thread();
  Mismatches found;
  for (int64_t i = s.first; i < count; i += s.step) {
    const auto at = p.place(i);
    if (!same_value(load(p.a, p.a_dtype, at.a), load(p.b, p.b_dtype, at.b))) found.add({1, i});
  }
  found = sum_of_block(found);
  if (thread_index() == 0) of_blocks[block_index().x] = found;
}

}  // namespace

int compare_blocks(int64_t count) {
  const int64_t wanted = (count + kThreads * kPairsOfThread - 1) / (kThreads * kPairsOfThread);
  const int64_t most = int64_t(multiprocessors()) * kBlocksOfProcessor;
  return int(wanted < most ? wanted : most);
}

void transform(const ElementPairs& p, double factor, double shift) {
  launch("transform", transform_kernel, dim3(unsigned(compare_blocks(p.count()))), kThreads, 0,
         nullptr, p, factor, shift);
}

void compare(const ElementPairs& p, Mismatches* found) {
  launch("compare", compare_kernel, dim3(unsigned(compare_blocks(p.count()))), kThreads,
         kThreads / kWarp * sizeof(Mismatches), nullptr, p, found);
}

}  // namespace gdr2::cuda
