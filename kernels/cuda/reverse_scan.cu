// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/reverse_scan.hpp"

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/reverse_scan_fp32.hpp"
#include "kernels/cuda/reverse_scan_steps.cuh"
#include "kernels/cuda/state_memory.cuh"

namespace gdr2::cuda {
namespace reverse_scan {

// The part of dS^T that a warp carries in registers: 16 channels of a block of 64, of every second
// one if there are four, and two strips (KB = 1: one).
template <class S>
struct WarpState {
  static constexpr int kCount = (S::kKeyBlocks + 1) / 2;
  static constexpr int kStrips = S::kKeyBlocks == 1 ? 1 : 2;
  Accumulator s[kCount][kStrips];

  // Which: block of 64 channels, first channel within it, first column within the CTA's.
  static __device__ __forceinline__ int block(int i) {
    return S::kKeyBlocks == 1 ? 0 : 2 * i + warp_index() / 4 % 2;
  }
  static __device__ __forceinline__ int channel() { return warp_index() % 4 * kTile; }
  static __device__ __forceinline__ int column() {
    return warp_index() / (4 * kStrips) * kStrips * kTile;
  }

  template <class Function>  // function(tile of dS^T, first column within the CTA's, first channel)
  __device__ __forceinline__ void for_each_tile(const Function& function) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
#pragma unroll
      for (int strip = 0; strip < kStrips; ++strip)
        function(s[i][strip], column() + strip * kTile, block(i) * kChunk + channel());
  }

  // As operand for everyone.
  __device__ __forceinline__ void publish(Shared<S>& shared, int i) const {
#pragma unroll
    for (int strip = 0; strip < kStrips; ++strip)
      store_tile_fragment(shared.ds[block(i)], column() + strip * kTile, channel(),
                          to_operand<typename S::Operand>(s[i][strip]));
  }
};

// A warp's part of dR and P: 16 tokens, one strip.
__device__ __forceinline__ int token_of_warp() { return warp_index() % kTokenTiles * kTile; }
__device__ __forceinline__ int column_of_warp() { return warp_index() / kTokenTiles * kTile; }

// As operand for everyone, and exported.
template <class S>
__device__ __forceinline__ void publish_rows(typename S::Operand* rows, const Accumulator& sums,
                                             const StageTensor& stage, const DeviceProblem& p,
                                             int64_t c, const Work& work) {
  store_tile_fragment(rows, column_of_warp(), token_of_warp(),
                      to_operand<typename S::Operand>(sums));
  export_transposed(stage, c, work.hv, work.first_column + column_of_warp(), token_of_warp(), p.V,
                    kChunk, sums);
}

// function(0), .., function(N - 1) with compile-time arguments.
template <int N, int I = 0, class Function>
__device__ __forceinline__ void for_each(const Function& function) {
  function(std::integral_constant<int, I>{});
  if constexpr (I + 1 < N) for_each<N, I + 1>(function);
}

// The CTA's columns in the tiles ds and p of one chunk.
template <class Operand>
struct Kept {
  Operand *ds, *p;
  int64_t ds_stride, p_stride;  // from chunk to chunk

  __device__ __forceinline__ Kept(const Adjoints<Operand>& adjoints, const Work& work, int64_t c) {
    const int value_block = work.first_column / kChunk,
              offset = work.first_column % kChunk * kChunk;
    ds = adjoints.ds_tile(c, work.hv, value_block, 0) + offset;
    p = adjoints.p_tile(c, work.hv, value_block) + offset;
    p_stride = static_cast<int64_t>(adjoints.HV) * adjoints.vb * kTileElements;
    ds_stride = p_stride * adjoints.kb;
  }
  __device__ __forceinline__ void retreat() {
    ds -= ds_stride;
    p -= p_stride;
  }
};

// The tiles of a pair of kt, with the last pair those of the solve too if steps may be asked for
// together.
template <class S, int Pair>
__device__ __forceinline__ void next_with_solve(Stream<S>& stream,
                                                const typename S::Operand* (&kt)[1],
                                                const typename S::Operand* (&a)[1]) {
  if constexpr (S::kGroup == 2 && Pair + 1 == S::kKeyPairs) {
    const typename S::Operand* tiles[2];
    stream.template next<Pair>(tiles);
    kt[0] = tiles[0];
    a[0] = tiles[1];
  } else {
    stream.template next<Pair>(kt);
  }
}

template <class S>
__global__ void __launch_bounds__(S::kThreads, 1)
    reverse_scan_kernel(DeviceProblem p, Intermediates<typename S::Operand> records,
                        Adjoints<typename S::Operand> adjoints, AdjointStages stages) {
  using Operand = typename S::Operand;
  using State = WarpState<S>;
  auto& shared = shared_as<Shared<S>>();
  const Work work = work_of<S>(p, records.vb);
  const int token = token_of_warp(), column = column_of_warp();
  Stream<S> stream(shared, p, records, work);
  Kept<Operand> kept(adjoints, work, work.sequence.first_chunk + work.sequence.chunks - 1);
  State state;
  state.for_each_tile([&](Accumulator& s, int first, int channel) {
    s = load_state_tile(p.dht, work.n, work.hv, work.first_column + first, channel, p.V, p.K);
  });
  for (int i = 0; i < State::kCount; ++i) state.publish(shared, i);

  for (int64_t index = work.sequence.chunks - 1; index >= 0;
       --index, stream.retreat(), kept.retreat()) {
    const int64_t c = work.sequence.first_chunk + index;
    const Chunk chunk = chunk_of(work.sequence, work.n, index);
    const Operand* d_o = shared.d_o[index % S::kRowBuffers];
    const float* decay = shared.decay[index % S::kRowBuffers];
    const Operand* aqk_rest = shared.aqk_rest[S::kRests ? index % S::kRestBuffers : 0];
    if (stages.ds.data != nullptr)
      state.for_each_tile([&](const Accumulator& s, int first, int channel) {
        export_transposed(stages.ds, c, work.hv, work.first_column + first, channel, p.V, p.K, s);
      });

    // dR = Kt dS + s Aqk^T dO
    Accumulator sums, p_rows;
    clear(sums);
    const Operand *kt[1], *a[1];
    ValueRows<Operand> values;
    for_each<S::kKeyPairs>([&](auto pair) {
      next_with_solve<S, pair>(stream, kt, a);
      if constexpr (pair == 0) {
#pragma unroll
        for (int kb = 0; kb < S::kKeyBlocks; ++kb)
          keep_columns<S>(kept.ds + kb * kTileElements, shared.ds[kb]);
        if (index + 1 < work.sequence.chunks) keep_columns<S>(kept.p + kept.p_stride, shared.p);
        values.load(p, chunk, work.hv, token, work.first_column + column);
      }
      add_state_cotangent<S>(sums, shared.ds[2 * pair], kt[0], token, column);
      if constexpr (2 * pair + 1 < S::kKeyBlocks)
        add_state_cotangent<S>(sums, shared.ds[2 * pair + 1], kt[0] + kTileElements, token, column);
    });
    if constexpr (S::kGroup == 1) stream.template next<S::kSolve>(a);
    add_score_cotangent<S>(sums, d_o, a[0] + kTileElements, aqk_rest, p.scale, token, column);
    publish_rows<S>(shared.dr, sums, stages.dr, p, c, work);
    publish_rest<S>(shared.dr_rest, sums, column, token);

    // P = A^T dR, kept with the next chunk's first step; dS <- gamma_C dS + s Qg^T dO - Y^T dR
    constexpr int kCount = S::kKeyBlocks < S::kGroup ? S::kKeyBlocks : S::kGroup;
    for_each<S::kKeyBlocks / kCount>([&](auto step) {
      constexpr int kFirst = step * kCount;  // channel block
      const Operand* tiles[kCount];
      stream.template next<S::kState + kFirst>(tiles);
      if constexpr (step == 0) {
        solve_transposed<S>(sums, p_rows, shared.dr, shared.dr_rest, a[0], token, column);
        publish_rows<S>(shared.p, sums, stages.p, p, c, work);
      }
      constexpr int kMine = kFirst / 2;
      const int block = State::block(kMine), which = block - kFirst;
      const bool mine = which >= 0 && which < kCount;
      const Operand* tile = which == kCount - 1 ? tiles[kCount - 1] : tiles[0];
      if (mine) {
        add_query_cotangent<S>(state.s[kMine], d_o, tile + kTileElements, decay + block * kChunk,
                               p.scale, State::channel(), State::column());
        subtract_erased<S>(state.s[kMine], shared.dr, tile, State::channel(), State::column());
        state.publish(shared, kMine);
      }
      if constexpr (step == 0)
        values.store_gradients(p, chunk, work.hv, token, work.first_column + column, p_rows);
    });
  }
  sync_threads();
  if (work.sequence.chunks > 0) keep_columns<S>(kept.p + kept.p_stride, shared.p);
  state.for_each_tile([&](const Accumulator& s, int first, int channel) {
    store_state_tile(p.dh0, s, work.n, work.hv, work.first_column + first, channel, p.V, p.K);
  });
}

template <class S>
void launch_shape(const DeviceProblem& p, const Intermediates<typename S::Operand>& records,
                  const Adjoints<typename S::Operand>& adjoints, const AdjointStages& stages) {
  const int64_t parts = records.vb * kChunk / S::kColumns;
  launch("reverse_scan", reverse_scan_kernel<S>, dim3(static_cast<unsigned>(p.N * p.HV * parts)),
         S::kThreads, sizeof(Shared<S>), p.stream, p, records, adjoints, stages);
}

// Narrow parts of V when the CTAs with wide ones would leave half of the device idle.
inline bool narrow(const DeviceProblem& p, int value_blocks) {
  return 2 * p.N * p.HV * value_blocks <= multiprocessors();
}

// function(Shape<..>{}) with how the scan of this problem is cut on the present device. 16-bit rings
// are shorter, and K = 256 is narrow, where a CTA has less shared memory than on Hopper.
template <class P, class Function>
void with_shape(const DeviceProblem& p, const Function& function) {
  dispatch_padded(p.K, [&](auto kp) {
    constexpr int KB = decltype(kp)::value / kChunk;
    if constexpr (sizeof(typename P::Operand) == 2) {
      using Wide = Shape<P, KB, 4, 8>;
      if (sizeof(Shared<Wide>) > shared_memory_limit())
        return function(Shape < P, KB, KB == 4 ? 2 : 4, 5 > {});
      if (!narrow(p, value_blocks(p.V))) return function(Wide{});
      function(Shape<P, KB, 2, 8>{});
    } else {
      function(Shape<P, KB, 2, 4>{});
    }
  });
}

}  // namespace reverse_scan

template <class P>
void launch_reverse_scan(const DeviceProblem& p, const Intermediates<typename P::Operand>& records,
                         const Adjoints<typename P::Operand>& adjoints,
                         const AdjointStages& stages) {
  if constexpr (std::is_same_v<P, Fp32Products>) {
    launch_reverse_scan_fp32(p, records, adjoints, stages);
  } else {
    reverse_scan::with_shape<P>(p, [&](auto shape) {
      reverse_scan::launch_shape<decltype(shape)>(p, records, adjoints, stages);
    });
  }
}

template <class P>
size_t reverse_scan_shared_bytes(const DeviceProblem& p) {
  if constexpr (std::is_same_v<P, Fp32Products>) {
    return reverse_scan_fp32_shared_bytes(p);
  } else {
    size_t bytes = 0;
    reverse_scan::with_shape<P>(
        p, [&](auto shape) { bytes = sizeof(reverse_scan::Shared<decltype(shape)>); });
    return bytes;
  }
}

template void launch_reverse_scan<Bf16Products>(const DeviceProblem&, const Intermediates<Bf16>&,
                                                const Adjoints<Bf16>&, const AdjointStages&);
template void launch_reverse_scan<Fp16Products>(const DeviceProblem&, const Intermediates<Fp16>&,
                                                const Adjoints<Fp16>&, const AdjointStages&);
template void launch_reverse_scan<Tf32Products>(const DeviceProblem&, const Intermediates<float>&,
                                                const Adjoints<float>&, const AdjointStages&);
template void launch_reverse_scan<Fp32Products>(const DeviceProblem&, const Intermediates<float>&,
                                                const Adjoints<float>&, const AdjointStages&);
template size_t reverse_scan_shared_bytes<Bf16Products>(const DeviceProblem&);
template size_t reverse_scan_shared_bytes<Fp16Products>(const DeviceProblem&);
template size_t reverse_scan_shared_bytes<Tf32Products>(const DeviceProblem&);
template size_t reverse_scan_shared_bytes<Fp32Products>(const DeviceProblem&);

}  // namespace gdr2::cuda
