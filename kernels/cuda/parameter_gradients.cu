// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/parameter_gradients.hpp"

#include "kernels/cuda/device/warp.cuh"
#include "kernels/cuda/tile.cuh"

namespace gdr2::cuda {
namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / kWarp;

// Partial sums [chunks, H, KP] of one head, 32 channels: a warp adds every 32nd chunk, lane =
// channel. The result is on the lanes of warp 0.
__device__ __forceinline__ double sum_over_chunks(const DeviceProblem& p, const float* partial,
                                                  int64_t head, int KP, int first,
                                                  double* warp_sums) {
  double sum = 0.0;
  const float* at = partial + head * KP + first + lane_index();
#pragma unroll 4
  for (int64_t c = warp_index(); c < p.chunk_bound; c += kWarps) sum += at[c * p.H * KP];
  warp_sums[thread_index()] = sum;
  sync_threads();
  double total = 0.0;
  if (warp_index() == 0)
    for (int w = 0; w < kWarps; ++w) total += warp_sums[w * kWarp + lane_index()];
  sync_threads();
  return total;
}

// One CTA a key head.
__global__ void __launch_bounds__(kThreads)
    parameter_gradients_kernel(DeviceProblem p, const float* bias_partial,
                               const float* log_rate_partial) {
  auto* warp_sums = &shared_as<double>();
  const int64_t head = block_index().x;
  const int KP = key_blocks(p.K) * kChunk;
  double log_rate = 0.0;
  for (int first = 0; first < KP; first += kWarp) {
    const int channel = first + lane_index();
    const double bias = sum_over_chunks(p, bias_partial, head, KP, first, warp_sums);
    log_rate += sum_over_chunks(p, log_rate_partial, head, KP, first, warp_sums);
    if (warp_index() == 0 && channel < p.K && p.ddt_bias.data != nullptr)
      store_parameter(p.ddt_bias, head, channel, static_cast<float>(bias));
  }
  if (warp_index() != 0 || p.dA_log.data == nullptr) return;
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) log_rate += shuffle_xor(log_rate, mask);
  if (lane_index() == 0) store_parameter(p.dA_log, head, 0, static_cast<float>(log_rate));
}

}  // namespace

void launch_parameter_gradients(const DeviceProblem& problem, const float* bias_partial,
                                const float* log_rate_partial) {
  if (problem.gate == GDR2_GATE_LOG ||
      (problem.ddt_bias.data == nullptr && problem.dA_log.data == nullptr))
    return;
  launch("parameter_gradients", parameter_gradients_kernel, dim3(static_cast<unsigned>(problem.H)),
         kThreads, sizeof(double) * kThreads, problem.stream, problem, bias_partial,
         log_rate_partial);
}

}  // namespace gdr2::cuda
