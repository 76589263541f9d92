// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/scan.hpp"

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/scan_fp32.hpp"
#include "kernels/cuda/scan_steps.cuh"
#include "kernels/cuda/scan_warpgroup.hpp"
#include "kernels/cuda/state_memory.cuh"

namespace gdr2::cuda {
namespace scan {

// The states that a warp carries in registers: 16 channels of every second block of 64 (KB = 1:
// half of the strips of 16 channels).
template <class S>
struct WarpState {
  static constexpr int kCount = (S::kKeyBlocks + 1) / 2;
  static constexpr int kStrips = S::kKeyBlocks == 1 ? S::kStrips / 2 : S::kStrips;
  Accumulator s[kCount][kStrips];

  // Which: block of 64 channels, first channel within it, first column within the CTA's.
  static __device__ __forceinline__ int block(int i) {
    return S::kKeyBlocks == 1 ? 0 : 2 * i + warp_index() / 4;
  }
  static __device__ __forceinline__ int channel() { return warp_index() % 4 * kTile; }
  static __device__ __forceinline__ int column() {
    return S::kKeyBlocks == 1 ? warp_index() / 4 * kStrips * kTile : 0;
  }

  template <class Function>  // function(tile of S^T, first column within the CTA's, first channel)
  __device__ __forceinline__ void for_each_tile(const Function& function) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip)
        function(s[i][strip], column() + strip * kTile, block(i) * kChunk + channel());
  }

  // As operand for everyone.
  __device__ __forceinline__ void publish(Shared<S>& shared, int i) const {
    const int lane = fresh_lane_index();
#pragma unroll
    for (int strip = 0; strip < kStrips; ++strip)
      store_tile_fragment(shared.state[block(i)], column() + strip * kTile, channel(),
                          rounded<typename S::P>(to_operand<typename S::Operand>(s[i][strip])),
                          lane);
  }
};

template <class S>
__device__ __forceinline__ void keep_state(const Shared<S>& shared,
                                           const Intermediates<typename S::Operand>& m, int64_t c,
                                           const Work& work) {
  if (m.h == nullptr) return;
#pragma unroll
  for (int kb = 0; kb < S::kKeyBlocks; ++kb)
    keep_columns<S>(m.h_tile(c, work.hv, work.first_column / kChunk, kb), shared.state[kb],
                    work.first_column);
}

// R for this warp's 16 tokens from sums = Y S, as operand for everyone and exported.
template <class S>
__device__ __forceinline__ void form_rows(Shared<S>& shared, Accumulator (&sums)[S::kStrips],
                                          const typename S::Operand* a, const DeviceProblem& p,
                                          const StageTensor& stage, int64_t c, int token) {
  const Work& work = shared.work;
  solve<S>(sums, shared.z, a, token);
  const int lane = fresh_lane_index();
#pragma unroll
  for (int s = 0; s < S::kStrips; ++s) {
    store_tile_fragment(shared.r, s * kTile, token,
                        rounded<typename S::P>(to_operand<typename S::Operand>(sums[s])), lane);
    export_transposed(stage, c, work.hv, work.first_column + s * kTile, token, p.V, kChunk,
                      sums[s]);
  }
}

// function(0), .., function(N - 1) with compile-time arguments.
template <int N, int I = 0, class Function>
__device__ __forceinline__ void for_each(const Function& function) {
  function(std::integral_constant<int, I>{});
  if constexpr (I + 1 < N) for_each<N, I + 1>(function);
}

// All of a sequence. Warps 0 .. 3 form R (they erase), warps 4 .. 7 Z and the output (they read), 16
// tokens each; all carry the state.
template <class S>
__device__ __forceinline__ void walk_chunks(Stream<S>& stream, WarpState<S>& state,
                                            const ScanStages& stages) {
  using Operand = typename S::Operand;
  Shared<S>& shared = stream.shared;
  const DeviceProblem& p = stream.p;
  const Intermediates<Operand>& m = stream.m;
  const Work& work = shared.work;
  const bool erases = warp_index() < kTokenTiles;
  const int token = warp_index() % kTokenTiles * kTile;

  for (int index = 0; index < work.chunks; ++index) {
    const int64_t c = work.sequence.first_chunk + index;
    if (stages.H.data != nullptr)
      state.for_each_tile([&](const Accumulator& s, int column, int channel) {
        export_transposed(stages.H, c, work.hv, work.first_column + column, channel, p.V, p.K, s);
      });

    Accumulator sums[S::kStrips];  // of Y S, then R, or of the output
    clear(sums);
    for_each<S::kKeyBlocks>([&](auto kb) {
      const Operand* tiles = stream.template next<kb>(index);
      if constexpr (kb == 0) keep_state(shared, m, c, work);
      if (erases) {
        erase<S>(sums, shared.state[kb], tiles, token);
      } else {
        read<S>(sums, shared.state[kb], tiles + kTileElements, token);
      }
      if (!erases && kb == S::kKeyBlocks - 1) store_targets(shared, index, token);
      stream.template end_step<kb>(index);
    });

    const Operand* solution = stream.template next<S::kSolve>(index);
    if (erases) form_rows(shared, sums, solution, p, stages.R, c, token);
    stream.template end_step<S::kSolve>(index);

    for_each<WarpState<S>::kCount>([&](auto i) {
      const Operand* kt = stream.template next<S::kSolve + 1 + i>(index);
      if constexpr (i == 0) {
        if (m.r != nullptr)
          keep_columns<S>(m.r_tile(c, work.hv, work.first_column / kChunk), shared.r,
                          work.first_column);
        if (!erases) {
          read_rows<S>(sums, shared.r, solution + kTileElements, token);
          if (p.o.data != nullptr)
            store_output<S>(
                p.o.row<Operand>(work.sequence.batch,
                                 work.sequence.token + static_cast<int64_t>(index) * kChunk + token,
                                 work.hv),
                p.o.token, sums, p.scale, work.rows(index) - token, work.first_column, p.V,
                p.o.pairs());
        }
      }
      const int block = state.block(i);
      write<S>(state.s[i], shared.r, kt + block % 2 * kTileElements,
               shared.decay[index % S::kDecayBuffers] + block * kChunk + state.channel(),
               state.channel(), state.column());
      state.publish(shared, i);
      stream.template end_step<S::kSolve + 1 + i>(index);
    });
  }
}

template <class S>
__global__ void __launch_bounds__(kThreads, S::kCtasPerMultiprocessor)
    scan_kernel(DeviceProblem p, Intermediates<typename S::Operand> m, ScanStages stages) {
  auto& shared = shared_as<Shared<S>>();
  if (thread_index() == 0) shared.work = work_of<S>(p, m.vb);
  sync_threads();
  const Work& work = shared.work;
  Stream<S> stream(shared, p, m);
  stream.start();
  WarpState<S> state;
  state.for_each_tile([&](Accumulator& s, int column, int channel) {
    s = load_state_tile(p.h0, work.n, work.hv, work.first_column + column, channel, p.V, p.K);
  });
  for (int i = 0; i < WarpState<S>::kCount; ++i) state.publish(shared, i);

  walk_chunks(stream, state, stages);
  state.for_each_tile([&](const Accumulator& s, int column, int channel) {
    store_state_tile(p.ht, s, work.n, work.hv, work.first_column + column, channel, p.V, p.K);
  });
}

template <class S>
void launch_shape(const DeviceProblem& p, const Intermediates<typename S::Operand>& m,
                  const ScanStages& stages) {
  static_assert(S::kCtasPerMultiprocessor * (sizeof(Shared<S>) + 1024) <= 228 * 1024);
  const int64_t parts = m.vb * kChunk / S::kColumns;
  launch("scan", scan_kernel<S>, dim3(static_cast<unsigned>(p.N * p.HV * parts)), kThreads,
         sizeof(Shared<S>), p.stream, p, m, stages);
}

// function(Shape<..>{}) with how the scan of this problem is cut on the present device.
template <class P, class Function>
void with_shape(const DeviceProblem& p, const Function& function) {
  dispatch_padded(p.K, [&](auto kp) {
    constexpr int KB = decltype(kp)::value / kChunk;
    using Narrow = Shape<P, KB, 2>;
    if constexpr (sizeof(typename P::Operand) == 2) {
      if (!narrow(p, value_blocks(p.V)) || sizeof(Shared<Narrow>) > shared_memory_limit())
        return function(Shape<P, KB, 4>{});
    }
    function(Narrow{});
  });
}

template <class P>
constexpr bool kHasWarpgroupScan = sizeof(typename P::Operand) == 2;

}  // namespace scan

template <class P>
void launch_scan(const DeviceProblem& p, const Intermediates<typename P::Operand>& m,
                 const ScanStages& stages) {
  if constexpr (std::is_same_v<P, Fp32Products>) {
    launch_scan_fp32(p, m, stages);
  } else {
    if constexpr (scan::kHasWarpgroupScan<P>) {
      if (is_hopper()) return launch_scan_warpgroup<P>(p, m, stages);
    }
    scan::with_shape<P>(p, [&](auto shape) { scan::launch_shape<decltype(shape)>(p, m, stages); });
  }
}

template <class P>
bool scan_leaves_room(const DeviceProblem& p) {
  if constexpr (scan::kHasWarpgroupScan<P>) {
    return is_hopper() && 4 * scan_warpgroup_ctas<P>(p) <= multiprocessors() &&
           p.chunk_bound * p.H >= 4 * multiprocessors();
  }
  return false;
}

template <class P>
size_t scan_shared_bytes(const DeviceProblem& p) {
  if constexpr (std::is_same_v<P, Fp32Products>) {
    return scan_fp32_shared_bytes(p);
  } else {
    if constexpr (scan::kHasWarpgroupScan<P>) {
      if (is_hopper()) return scan_warpgroup_shared_bytes<P>(p);
    }
    size_t bytes = 0;
    scan::with_shape<P>(p, [&](auto shape) { bytes = sizeof(scan::Shared<decltype(shape)>); });
    return bytes;
  }
}

template void launch_scan<Bf16Products>(const DeviceProblem&, const Intermediates<Bf16>&,
                                        const ScanStages&);
template void launch_scan<Fp16Products>(const DeviceProblem&, const Intermediates<Fp16>&,
                                        const ScanStages&);
template void launch_scan<Tf32Products>(const DeviceProblem&, const Intermediates<float>&,
                                        const ScanStages&);
template void launch_scan<Fp32Products>(const DeviceProblem&, const Intermediates<float>&,
                                        const ScanStages&);
template bool scan_leaves_room<Bf16Products>(const DeviceProblem&);
template bool scan_leaves_room<Fp16Products>(const DeviceProblem&);
template bool scan_leaves_room<Tf32Products>(const DeviceProblem&);
template bool scan_leaves_room<Fp32Products>(const DeviceProblem&);
template size_t scan_shared_bytes<Bf16Products>(const DeviceProblem&);
template size_t scan_shared_bytes<Fp16Products>(const DeviceProblem&);
template size_t scan_shared_bytes<Tf32Products>(const DeviceProblem&);
template size_t scan_shared_bytes<Fp32Products>(const DeviceProblem&);

}  // namespace gdr2::cuda
