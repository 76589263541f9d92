// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/prep.hpp"

#include "kernels/cuda/prep_slab.cuh"
#include "kernels/cuda/prep_solution.cuh"

namespace gdr2::cuda {
namespace {

// A 64 x 64 matrix to its chunk tile, by `Threads` threads: zero above the diagonal and past the tail.
// take(place, unit, rest): 16 bytes of it and (16 bits) what rounding took from them.
template <class P, int Threads, class Take>
__device__ __forceinline__ void for_each_unit(const float* matrix, int rows, int thread,
                                              const Take& take) {
  using Operand = typename P::Operand;
  constexpr int kUnit = 16 / sizeof(Operand);
#pragma unroll
  for (int i = 0; i < kTileElements; i += Threads * kUnit) {
    const int first = i + thread * kUnit, row = first / kChunk, column = first % kChunk;
    if (kTileElements % (Threads * kUnit) != 0 && first >= kTileElements) return;
    const int place = chunk_tile_at<Operand>(row, column),
              last = row < rows ? row - column : -1;  // of the unit's elements
    Pack<Operand, kUnit> unit, unit_rest;
    Pack<float, kUnit> given;
#pragma unroll
    for (int n = 0; n < kUnit; n += 4)
      *reinterpret_cast<Pack<float, 4>*>(&given[n]) =
          load_four(matrix + row * kMatrixLd + column + n);
#pragma unroll
    for (int n = 0; n < kUnit; ++n) {
      const float x = n <= last ? given[n] : 0.0f;
      unit[n] = from_float<Operand>(rounded<P>(x));
      unit_rest[n] = from_float<Operand>(kRestScale<Operand> * (x - to_float(unit[n])));
    }
    take(place, unit, unit_rest);
  }
}

template <class Operand, int Unit>
__device__ __forceinline__ void store_unit(Operand* tile, int place,
                                           const Pack<Operand, Unit>& unit) {
  *reinterpret_cast<Pack<Operand, Unit>*>(tile + place) = unit;
}

// As store_matrix_tile, to an exported stage; without the diagonal when strict.
__device__ __forceinline__ void export_matrix(const StageTensor& stage, int64_t c, int64_t h,
                                              const float* matrix, int rows, bool strict) {
  if (stage.data == nullptr) return;
  float* target = stage.at(c, h);
  for (int i = thread_index(); i < kTileElements; i += kPrepThreads) {
    const int row = i / kChunk, column = i % kChunk;
    const bool inside = row < rows && column < row + (strict ? 0 : 1);
    target[row * stage.row + column * stage.column] =
        inside ? matrix[row * kMatrixLd + column] : 0.0f;
  }
}

// Once all scores stand: Aqk, A and Y.
template <class P, bool Warpgroups, class Operand = typename P::Operand>
__device__ __forceinline__ void store_matrices(const SolutionTiles<P, Warpgroups>& solution,
                                               ChunkMatrices& matrices,
                                               const Intermediates<Operand>& out,
                                               const PrepStages& stages, int64_t c, int h,
                                               int rows) {
  const int thread = solution.at.thread();
  export_matrix(stages.Aqk, c, h, matrices.Aqk, rows, false);
  if (stages.T.data != nullptr) {
    export_matrix(stages.T, c, h, matrices.T, rows, true);
    sync_threads();
  }
  // Two warps invert the diagonal blocks, the others store Aqk meanwhile.
  constexpr int kInverting = kChunk;
  if (thread < kInverting) {
    invert_diagonal_blocks(matrices.T, thread);
  } else {
    Operand* aqk = out.record_tile(c, h, out.tiles().aqk());
    for_each_unit<P, kPrepThreads - kInverting>(matrices.Aqk, rows, thread - kInverting,
                                                [&](int place, const auto& unit, const auto& rest) {
                                                  store_unit(aqk, place, unit);
                                                  if (out.aqk_rest != nullptr)
                                                    store_unit(out.aqk_rest_tile(c, h), place,
                                                               rest);
                                                });
  }
  sync_threads();
  join_inverted_blocks(matrices.T, matrices.scratch);
  Operand* a = out.record_tile(c, h, out.tiles().a());
  for_each_unit<P, kPrepThreads>(matrices.T, rows, thread,
                                 [&](int place, const auto& unit, const auto&) {
                                   store_unit(a, place, unit);
                                   store_unit(solution.shared.factors.a, place, unit);
                                 });
  export_matrix(stages.A, c, h, matrices.T, rows, false);
  solution.form(stages.Y, c, h);
}

// The record of a chunk and key head.
template <class P, bool Warpgroups, class Operand = typename P::Operand>
__device__ __forceinline__ void form_record(PrepShared<Operand>& shared, const DeviceProblem& p,
                                            const Intermediates<Operand>& out,
                                            const PrepStages& stages, int64_t c, int h,
                                            const Chunk& chunk) {
  fetch_slab(shared.slab, p, chunk, h, 0);
  copy_commit();
  const float norm = p.l2norm ? inverse_norms<Operand>(p, chunk, h) : 1.0f;
  if (out.inverse_norm != nullptr) store_inverse_norms(out.norms(c, h), norm);
  float inside[4] = {};                    // this warp's block's scores, the rows that are products
  float of_query = 0.0f, of_erase = 0.0f;  // and those formed directly
  bool any_direct = false;
  Accumulator between[2];  // and its share of the others
  for (int block = 0; block < out.kb; ++block) {
    copy_wait<0>();
    sync_threads();

    SlabWork<P> work{shared, p, chunk.rows, h, out.record(c, h), out.tiles(), block, norm};
    BlockPairs step;
    work.take_decays(step);
    sync_threads();
    BlockPairs k;
    load_block(k, shared.slab.k, work.at);
    int product_rows = kBlockRows;
    if (!work.all_products(step, k)) {
      product_rows = work.add_direct_scores(step, k, of_query, of_erase);
      any_direct = true;
    }
    const auto around = work.decays_around();
    if (p.l2norm || p.neg_eigval) {
      work.template store_operands<true>(step, k, around.before, product_rows);
    } else {
      work.template store_operands<false>(step, k, around.before, product_rows);
    }
    if constexpr (!DecayWalk<P>::kLog) {
      sync_warp();
      add_scores_inside<P>(inside, shared.slab, work.rests(), product_rows, work.at);
      sync_warp();
    }
    work.store_decayed_keys(step, k, around.after);
    work.store_chunk_decay(out.decay(c, h));
    for (int n = 0; n < 2; ++n)
      store_pair_decays(shared.sums.decays[work.at.warp][n], shared.sums.total,
                        block_pair(n, work.at.warp), work.at.lane);
    sync_threads();

    const ThreadPlace at = ThreadPlace::here();
    for (int n = 0; n < 2; ++n) {
      if (block == 0) {
        clear(between[n]);
      } else {
        between[n] = load_sums(shared.sums.between[n], at.thread());
      }
      add_scores_between<P>(between[n], shared.slab, shared.sums.decays[at.warp][n], n, at);
      if (block + 1 < out.kb) store_sums(shared.sums.between[n], between[n], at.thread());
    }
    sync_threads();
    if (block + 1 < out.kb) {
      fetch_slab(shared.slab, p, chunk, h, (block + 1) * kSlab);
      copy_commit();
    }
  }

  const SolutionTiles<P, Warpgroups> solution{shared, out.record_tile(c, h, out.tiles().y(0)), p.K,
                                              out.kb};
  solution.fetch(0);
  ChunkMatrices& matrices = shared.matrices;
  const ThreadPlace at = ThreadPlace::here();
  store_scores_inside(matrices.T, matrices.Aqk, inside, at);
  if (any_direct) {
    sync_warp();
    store_direct_scores(matrices.T, matrices.Aqk, of_query, of_erase, p.neg_eigval ? 2.0f : 1.0f,
                        norm, at);
  }
  for (int n = 0; n < 2; ++n) store_scores_between(matrices.T, matrices.Aqk, between[n], n, at);
  sync_threads();
  store_matrices(solution, matrices, out, stages, c, h, chunk.rows);
}

// Where the CTAs go, one after the other: late chunks first, so that the early ones of all sequences,
// where the scan begins, are the last ones written and still in the second-level cache.
__device__ __forceinline__ int64_t place_in_turn(const DeviceProblem& p, uint32_t turn) {
  if (p.cu_seqlens != nullptr) return places(p) - 1 - turn;
  const auto sequences = static_cast<uint32_t>(p.B),
             count = static_cast<uint32_t>(places(p)) / sequences;
  return int64_t{turn % sequences} * count + count - 1 - turn / sequences;
}

template <class P, bool Warpgroups>
__global__ void __launch_bounds__(kPrepThreads, sizeof(typename P::Operand) == 2 ? 3 : 2)
    prep_kernel(DeviceProblem p, Intermediates<typename P::Operand> out, PrepStages stages) {
  if (thread_index() == 0) let_next_start();  // the scan, on multiprocessors that prep has left
  const auto heads = static_cast<unsigned>(p.H);
  const int64_t c = chunk_at_place(p, place_in_turn(p, block_index().x / heads));
  const int h = static_cast<int>(block_index().x % heads);
  const Chunk chunk = chunk_at(p, c);
  if (chunk.rows > 0 && in_part(p, chunk))
    form_record<P, Warpgroups>(shared_as<PrepShared<typename P::Operand>>(), p, out, stages, c, h,
                               chunk);
  // Beside the scan of an earlier part: the next scan waits for this kernel, and so for that one.
  if (block_index().x == 0 && thread_index() == 0) wait_for_previous();
}

}  // namespace

template <class P>
void launch_prep(const DeviceProblem& p, const Intermediates<typename P::Operand>& out,
                 const PrepStages& stages) {
  const auto launch_with = [&](auto warpgroups) {
    launch_from(p.part.index == 0 ? Start::kBehind : Start::kBeside, "prep",
                prep_kernel<P, warpgroups>, dim3(static_cast<unsigned>(places(p) * p.H)),
                kPrepThreads, sizeof(PrepShared<typename P::Operand>), p.stream, p, out, stages);
  };
  if constexpr (sizeof(typename P::Operand) == 2) {
    if (is_hopper()) return launch_with(std::true_type{});
  }
  launch_with(std::false_type{});
}

template void launch_prep<Bf16Products>(const DeviceProblem&, const Intermediates<Bf16>&,
                                        const PrepStages&);
template void launch_prep<Fp16Products>(const DeviceProblem&, const Intermediates<Fp16>&,
                                        const PrepStages&);
template void launch_prep<Tf32Products>(const DeviceProblem&, const Intermediates<float>&,
                                        const PrepStages&);
template void launch_prep<Fp32Products>(const DeviceProblem&, const Intermediates<float>&,
                                        const PrepStages&);

}  // namespace gdr2::cuda
