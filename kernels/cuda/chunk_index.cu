// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/chunk_index.hpp"

#include "kernels/cuda/device/warp.cuh"

namespace gdr2::cuda {
namespace {

constexpr int kThreads = 256;

// Inclusive sum over the CTA, and the total.
struct PrefixSum {
  int64_t inclusive, total;
};

__device__ __forceinline__ PrefixSum prefix_sum(int64_t value, int64_t* warp_sums) {
  const int64_t in_warp = warp_inclusive_sum(value);
  if (lane_index() == kWarp - 1) warp_sums[warp_index()] = in_warp;
  sync_threads();
  PrefixSum sum{in_warp, 0};
  for (int w = 0; w < kThreads / kWarp; ++w) {
    if (w < warp_index()) sum.inclusive += warp_sums[w];
    sum.total += warp_sums[w];
  }
  sync_threads();
  return sum;
}

// Writes those of the sequence's chunks that lie in [begin, end).
__device__ __forceinline__ void write_chunks(const DeviceProblem& p, const Sequence& s, int64_t n,
                                             int64_t begin, int64_t end) {
  const int64_t first = s.first_chunk > begin ? s.first_chunk : begin;
  const int64_t past = s.first_chunk + s.chunks < end ? s.first_chunk + s.chunks : end;
  for (int64_t c = first; c < past; ++c) p.chunk_table[c] = chunk_of(s, n, c - s.first_chunk);
}

// Each CTA owns kThreads entries of the table and counts the chunks of all sequences for itself.
__global__ void __launch_bounds__(kThreads) fill_chunk_table(DeviceProblem p) {
  auto* warp_sums = &shared_as<int64_t>();
  const int64_t begin = static_cast<int64_t>(block_index().x) * kThreads;
  const int64_t end = begin + kThreads < p.chunk_bound ? begin + kThreads : p.chunk_bound;
  int64_t chunks = 0;  // of the sequences before this step
  for (int64_t first = 0; first < p.N; first += kThreads) {
    const int64_t n = first + thread_index();
    Sequence s{0, 0, 0, 0, 0};
    if (n < p.N) {
      s.token = p.cu_seqlens[n];
      s.length = p.cu_seqlens[n + 1] - s.token;
      s.chunks = ceil_div(s.length, kChunk);
    }
    const PrefixSum sum = prefix_sum(s.chunks, warp_sums);
    s.first_chunk = chunks + sum.inclusive - s.chunks;
    if (n < p.N) write_chunks(p, s, n, begin, end);
    if (n < p.N && block_index().x == 0) p.first_chunk[n] = s.first_chunk;
    chunks += sum.total;
  }
  if (block_index().x == 0 && thread_index() == 0) p.first_chunk[p.N] = chunks;
  const int64_t c = begin + thread_index();
  if (c >= chunks && c < end) p.chunk_table[c] = Chunk{0, 0, 0, 0, 0};
}

}  // namespace

int64_t chunk_bound(const gdr2_problem& problem) {
  if (problem.cu_seqlens == nullptr) return problem.B * ceil_div(problem.T, kChunk);
  const int64_t bound = (problem.T + (kChunk - 1) * problem.N) / kChunk;
  return bound < problem.T ? bound : problem.T;
}

void place_chunk_index(DeviceProblem& problem, Workspace& workspace) {
  problem.chunk_table = nullptr;
  problem.first_chunk = nullptr;
  if (problem.cu_seqlens == nullptr) return;
  problem.chunk_table = workspace.take<Chunk>(problem.chunk_bound);
  problem.first_chunk = workspace.take<int64_t>(problem.N + 1);
}

void build_chunk_index(const DeviceProblem& problem) {
  if (problem.cu_seqlens == nullptr) return;
  const int64_t blocks = problem.chunk_bound == 0 ? 1 : ceil_div(problem.chunk_bound, kThreads);
  launch("fill_chunk_table", fill_chunk_table, dim3(static_cast<unsigned>(blocks)), kThreads,
         sizeof(int64_t) * kThreads / kWarp, problem.stream, problem);
}

}  // namespace gdr2::cuda
