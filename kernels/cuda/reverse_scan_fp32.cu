// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/reverse_scan_fp32.hpp"

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/fp32_tiles.cuh"

namespace gdr2::cuda {
namespace fp32 {
namespace {

template <int KB>
struct ReverseShared {
  float slot[kSlots][kTileElements];
  float state[KB * kChunk * kColumns];                  // dS [channel, column]
  float d_o[kChunk * kColumns], dr[kChunk * kColumns];  // [token, column]
};

// The order in which a chunk uses its record: aqk, kt .., a, then qg and y of every block.
template <int KB>
__device__ __forceinline__ int tile_at(int step) {
  constexpr RecordTiles kRecord{KB};
  if (step == 0) return kRecord.aqk();
  if (step <= KB) return kRecord.kt(step - 1);
  if (step == KB + 1) return kRecord.a();
  const int block = (step - KB - 2) / 2;
  return (step - KB) % 2 == 0 ? kRecord.qg(block) : kRecord.y(block);
}

__device__ __forceinline__ void load_cotangent(float* d_o, const DeviceProblem& p,
                                               const Chunk& chunk, const Work& work) {
  for_each_state(kChunk, [&](int t, int column) {
    const int v = work.first_column + column;
    const bool valid = p.d_o.data != nullptr && t < chunk.rows && v < p.V;
    d_o[t * kColumns + column] =
        valid ? p.d_o.row<const float>(chunk.batch, chunk.token + t, work.hv)[v] : 0.0f;
  });
}

// dv = w P, dw = v P
__device__ __forceinline__ void store_value_gradients(const Sums& sums, const DeviceProblem& p,
                                                      const Chunk& chunk, const Work& work) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int64_t t = chunk.token + row() + i;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int v = work.first_column + column() + j;
      if (row() + i >= chunk.rows || v >= p.V) continue;
      p.dv.row<float>(chunk.batch, t, work.hv)[v] =
          p.w.row<const float>(chunk.batch, t, work.hv)[v] * sums[i][j];
      p.dw.row<float>(chunk.batch, t, work.hv)[v] =
          p.v.row<const float>(chunk.batch, t, work.hv)[v] * sums[i][j];
    }
  }
}

// dS <- gamma_C dS + s Qg^T dO - Y^T dR for the block of 64 channels whose state this is; qg_d_o and
// y_dr are the products.
__device__ __forceinline__ void retreat_state(float* state, const float* decay, const Sums& qg_d_o,
                                              const Sums& y_dr, float scale) {
  Sums s;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const Pack<float, 2> old = pair_at(state, row() + i, column());
#pragma unroll
    for (int j = 0; j < 2; ++j)
      s[i][j] = fma_(scale, qg_d_o[i][j], decay[row() + i] * old[j]) - y_dr[i][j];
  }
  store_sums(state, s);
}

template <int KB>
__global__ void __launch_bounds__(kThreads, 1)
    reverse_scan_fp32_kernel(DeviceProblem p, Intermediates<float> m, Adjoints<float> adjoints,
                             AdjointStages stages) {
  auto& shared = shared_as<ReverseShared<KB>>();
  constexpr int kTiles = RecordTiles{KB}.count();
  const Work work = work_of(p, m.vb);
  Ring ring(shared.slot, [&](int64_t step) {
    const int64_t index = work.sequence.chunks - 1 - step / kTiles;
    return index >= 0 ? m.record_tile(work.sequence.first_chunk + index, work.h,
                                      tile_at<KB>(static_cast<int>(step % kTiles)))
                      : nullptr;
  });
  load_state<KB>(shared.state, p.dht, p, work);
  for (int64_t index = work.sequence.chunks - 1; index >= 0; --index) {
    const int64_t c = work.sequence.first_chunk + index;
    const Chunk chunk = chunk_of(work.sequence, work.n, index);
    const float* decay = m.decay(c, work.h);
    Sums dr{}, sums{};
    const float* aqk = ring.next();
    load_cotangent(shared.d_o, p, chunk, work);
    keep_state<KB>(shared.state, p, stages.ds, c, work, true,
                   [&](int v, int k) { return adjoints.ds_tile(c, work.hv, v, k); });
    sync_threads();
    multiply_columns(dr, aqk, shared.d_o);
#pragma unroll
    for (int i = 0; i < 4; ++i) dr[i] = {{p.scale * dr[i][0], p.scale * dr[i][1]}};
    for (int kb = 0; kb < KB; ++kb)
      multiply_rows(dr, ring.next(), shared.state + kb * kChunk * kColumns);
    store_sums(shared.dr, dr);
    keep_rows(dr, p, stages.dr, c, work, nullptr);
    multiply_columns(sums, ring.next(), shared.dr);
    keep_rows(sums, p, stages.p, c, work, adjoints.p_tile(c, work.hv, work.first_column / kChunk));
    store_value_gradients(sums, p, chunk, work);
    for (int kb = 0; kb < KB; ++kb) {
      Sums qg_d_o{}, y_dr{};
      multiply_columns(qg_d_o, ring.next(), shared.d_o);
      multiply_columns(y_dr, ring.next(), shared.dr);
      retreat_state(shared.state + kb * kChunk * kColumns, decay + kb * kChunk, qg_d_o, y_dr,
                    p.scale);
    }
  }
  sync_threads();
  store_state(p.dh0, shared.state, p, work);
}

}  // namespace
}  // namespace fp32

void launch_reverse_scan_fp32(const DeviceProblem& p, const Intermediates<float>& records,
                              const Adjoints<float>& adjoints, const AdjointStages& stages) {
  dispatch_padded(p.K, [&](auto kp) {
    constexpr int KB = decltype(kp)::value / kChunk;
    launch("reverse_scan_fp32", fp32::reverse_scan_fp32_kernel<KB>,
           dim3(static_cast<unsigned>(p.N * p.HV * (records.vb * kChunk / fp32::kColumns))),
           fp32::kThreads, sizeof(fp32::ReverseShared<KB>), p.stream, p, records, adjoints, stages);
  });
}

size_t reverse_scan_fp32_shared_bytes(const DeviceProblem& p) {
  size_t bytes = 0;
  dispatch_padded(
      p.K, [&](auto kp) { bytes = sizeof(fp32::ReverseShared<decltype(kp)::value / kChunk>); });
  return bytes;
}

}  // namespace gdr2::cuda
