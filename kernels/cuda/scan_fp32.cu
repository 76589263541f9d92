// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/scan_fp32.hpp"

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/fp32_tiles.cuh"

namespace gdr2::cuda {
namespace fp32 {
namespace {

template <int KB>
struct ScanShared {
  float slot[kSlots][kTileElements];
  float state[KB * kChunk * kColumns];               // [channel, column]
  float z[kChunk * kColumns], r[kChunk * kColumns];  // [token, column]
};

// Z = w v.
__device__ __forceinline__ void store_targets(float* z, const DeviceProblem& p, const Chunk& chunk,
                                              const Work& work) {
  Sums sums;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int t = row() + i;
    const float* v = p.v.row<const float>(chunk.batch, chunk.token + t, work.hv);
    const float* w = p.w.row<const float>(chunk.batch, chunk.token + t, work.hv);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int at = work.first_column + column() + j;
      sums[i][j] = t < chunk.rows && at < p.V ? w[at] * v[at] : 0.0f;
    }
  }
  store_sums(z, sums);
}

__device__ __forceinline__ void store_output(const Sums& o, const DeviceProblem& p,
                                             const Chunk& chunk, const Work& work) {
  if (p.o.data == nullptr) return;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (row() + i >= chunk.rows) continue;
    float* target = p.o.row<float>(chunk.batch, chunk.token + row() + i, work.hv);
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int at = work.first_column + column() + j;
      if (at < p.V) target[at] = p.scale * o[i][j];
    }
  }
}

// S <- gamma_C S + Kt^T R for the block of 64 channels whose state this is.
__device__ __forceinline__ void update_state(float* state, const float* decay, const float* kt,
                                             float* r) {
  Sums s;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Pack<float, 2> old = pair_at(state, row() + i, column());
    s[i] = {{decay[row() + i] * old[0], decay[row() + i] * old[1]}};
  }
  multiply_columns(s, kt, r);
  store_sums(state, s);
}

template <int KB>
__global__ void __launch_bounds__(kThreads, 1)
    scan_fp32_kernel(DeviceProblem p, Intermediates<float> m, ScanStages stages) {
  auto& shared = shared_as<ScanShared<KB>>();
  constexpr int kTiles = RecordTiles{KB}.count();
  const Work work = work_of(p, m.vb);

  Ring ring(shared.slot, [&](int64_t step) {
    const int64_t index = step / kTiles;
    return index < work.sequence.chunks ? m.record_tile(work.sequence.first_chunk + index, work.h,
                                                        static_cast<int>(step % kTiles))
                                        : nullptr;
  });
  load_state<KB>(shared.state, p.h0, p, work);
  sync_threads();
  for (int64_t index = 0; index < work.sequence.chunks; ++index) {
    const int64_t c = work.sequence.first_chunk + index;
    const Chunk chunk = chunk_of(work.sequence, work.n, index);
    const float* decay = m.decay(c, work.h);
    Sums r{}, o{};
    store_targets(shared.z, p, chunk, work);
    for (int kb = 0; kb < KB; ++kb) {
      float* state = shared.state + kb * kChunk * kColumns;
      multiply_rows(r, ring.next(), state);
      if (kb == 0)
        keep_state<KB>(shared.state, p, stages.H, c, work, m.h != nullptr,
                       [&](int v, int k) { return m.h_tile(c, work.hv, v, k); });
      multiply_rows(o, ring.next(), state);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) r[i] = {{-r[i][0], -r[i][1]}};
    multiply_rows(r, ring.next(), shared.z);  // R = A Z - Y S
    store_sums(shared.r, r);
    keep_rows(r, p, stages.R, c, work,
              m.r == nullptr ? nullptr : m.r_tile(c, work.hv, work.first_column / kChunk));
    multiply_rows(o, ring.next(), shared.r);
    store_output(o, p, chunk, work);
    for (int kb = 0; kb < KB; ++kb) {
      const float* kt = ring.next();
      update_state(shared.state + kb * kChunk * kColumns, decay + kb * kChunk, kt, shared.r);
    }
  }
  sync_threads();
  store_state(p.ht, shared.state, p, work);
}

}  // namespace
}  // namespace fp32

void launch_scan_fp32(const DeviceProblem& p, const Intermediates<float>& m,
                      const ScanStages& stages) {
  dispatch_padded(p.K, [&](auto kp) {
    constexpr int KB = decltype(kp)::value / kChunk;
    launch("scan_fp32", fp32::scan_fp32_kernel<KB>,
           dim3(static_cast<unsigned>(p.N * p.HV * (m.vb * kChunk / fp32::kColumns))),
           fp32::kThreads, sizeof(fp32::ScanShared<KB>), p.stream, p, m, stages);
  });
}

size_t scan_fp32_shared_bytes(const DeviceProblem& p) {
  size_t bytes = 0;
  dispatch_padded(p.K,
                  [&](auto kp) { bytes = sizeof(fp32::ScanShared<decltype(kp)::value / kChunk>); });
  return bytes;
}

}  // namespace gdr2::cuda
