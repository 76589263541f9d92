// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/scan_warpgroup.hpp"

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/scan_warpgroup_steps.cuh"
#include "kernels/cuda/state_memory.cuh"

namespace gdr2::cuda {
namespace scan {

// state_memory.cuh's tiles are [column, channel], a warpgroup's are [channel, column].

// The states that warpgroup `Group` carries: every second block of 64 channels, all of the CTA's
// columns. With one block the second warpgroup carries nothing.
template <class S, int Group>
struct GroupState {
  static constexpr int kCount = (S::kKeyBlocks + 1 - Group) / 2, kStored = kCount > 0 ? kCount : 1;
  Accumulator s[kStored][S::kStrips];

  static __device__ __forceinline__ int block(int i) { return 2 * i + Group; }

  template <class Function>  // function(tile of S, first channel, first column within the CTA's)
  __device__ __forceinline__ void for_each_tile(const Function& function) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
#pragma unroll
      for (int strip = 0; strip < S::kStrips; ++strip)
        function(s[i][strip], block(i) * kChunk + row_of_warp(), strip * kTile);
  }

  __device__ __forceinline__ void decay(const float* decay) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float* mine = decay + block(i) * kChunk + row_of_warp();
      const float upper = mine[tile_row(0)], lower = mine[tile_row(2)];
#pragma unroll
      for (int strip = 0; strip < S::kStrips; ++strip)
#pragma unroll
        for (int e = 0; e < 8; ++e) s[i][strip].x[e] *= e / 2 % 2 == 0 ? upper : lower;
    }
  }

  // Starts S += Kt^T R.
  template <int I = 0>
  __device__ __forceinline__ void start_update(const Ring<S>& ring) {
    if constexpr (I < kCount) {
      start_product<LeftStorage::kTransposed, Product::kAdd>(
          s[I], ring.template wait<S::kSolve + 1 + I>() + Group * kTileElements, ring.shared.r);
      start_update<I + 1>(ring);
    }
  }

  // As operand for everyone.
  __device__ __forceinline__ void publish(WarpgroupShared<S>& shared) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) publish_operand<S>(shared.state[block(i)], s[i]);
    publish_to_engines();
  }
};

// The pass through a sequence's chunks, seen by one warpgroup. The first forms R = A Z - Y S, the
// second the output; both carry the state.
template <class S, int Group>
struct Walk {
  using Operand = typename S::Operand;
  WarpgroupShared<S>& shared;
  const DeviceProblem& p;
  const ScanStages& stages;
  GroupState<S, Group>& state;
  Ring<S> ring{shared};

  __device__ __forceinline__ int64_t chunk(int index) const {
    return shared.work.sequence.first_chunk + index;
  }

  __device__ __forceinline__ void export_state(int index) const {
    if (stages.H.data == nullptr) return;
    state.for_each_tile([&](const Accumulator& s, int channel, int column) {
      export_transposed(transposed(stages.H), chunk(index), shared.work.hv, channel,
                        shared.work.first_column + column, p.K, p.V, s);
    });
  }

  __device__ __forceinline__ void export_rows(int index,
                                              const Accumulator (&rows)[S::kStrips]) const {
    if (stages.R.data == nullptr) return;
#pragma unroll
    for (int strip = 0; strip < S::kStrips; ++strip)
      export_transposed(transposed(stages.R), chunk(index), shared.work.hv, row_of_warp(),
                        shared.work.first_column + strip * kTile, kChunk, p.V, rows[strip]);
  }

  // The tiles at `Offset` of the first steps, times S.
  template <int Offset, Product How, int KB = 0>
  __device__ __forceinline__ void start_state_product(Accumulator (&sums)[S::kStrips]) const {
    start_product<LeftStorage::kRows, How>(sums, ring.template wait<KB>() + Offset * kTileElements,
                                           shared.state[KB]);
    if constexpr (KB + 1 < S::kKeyBlocks)
      start_state_product<Offset, How == Product::kSet ? Product::kAdd : How, KB + 1>(sums);
  }

  // S <- gamma_C S, once the state entering the chunk is exported and published.
  __device__ __forceinline__ void decay_state(int index) {
    ring.template wait<S::kSolve>();
    state.decay(shared.decay[index % S::kDecayBuffers]);
  }

  __device__ __forceinline__ void publish_state() {
    state.publish(shared);
    arrive_as_warp(shared.meetings.state_stands);
  }

  // rows = A Z, whose second term is what rounding took from the first.
  __device__ __forceinline__ void start_targets(Accumulator (&rows)[S::kStrips]) const {
    const Operand* solution = ring.template wait<S::kSolve>();
    start_product<LeftStorage::kRows, Product::kSet>(rows, solution, shared.z);
    start_product<LeftStorage::kRows, Product::kAdd>(rows, solution, shared.z_rest);
  }

  __device__ __forceinline__ void solve_chunks() {
    Meetings& meetings = shared.meetings;
    Accumulator rows[S::kStrips];
    publish_state();
    for (int index = 0; index < shared.work.chunks; ++index, ring.next_chunk()) {
      const uint32_t parity = index % 2;
      export_state(index);
      wait_transfer(meetings.targets_stand, parity);
      begin_products();
      start_targets(rows);
      wait_transfer(meetings.state_stands, parity);
      start_state_product<0, Product::kSubtract>(rows);
      commit_products();
      decay_state(index);
      if (index > 0) wait_transfer(meetings.rows_read, parity ^ 1);
      wait_products<0>();
      publish_operand<S>(shared.r, rows);
      publish_to_engines();
      arrive_as_warp(meetings.rows_stand);
      arrive_as_warp(meetings.targets_read);
      wait_transfer(meetings.rows_stand, parity);

      begin_products();
      state.start_update(ring);
      commit_products();
      export_rows(index, rows);
      wait_products<0>();
      wait_transfer(meetings.state_read, parity);
      publish_state();
    }
  }

  __device__ __forceinline__ void read_chunks() {
    Meetings& meetings = shared.meetings;
    publish_state();
    Accumulator sums[S::kStrips];
    for (int index = 0; index < shared.work.chunks; ++index, ring.next_chunk()) {
      const uint32_t parity = index % 2;
      export_state(index);
      wait_transfer(meetings.state_stands, parity);
      begin_products();
      start_state_product<1, Product::kSet>(sums);
      commit_products();
      decay_state(index);
      wait_products<0>();
      arrive_as_warp(meetings.state_read);
      wait_transfer(meetings.rows_stand, parity);

      const Operand* scores = ring.template wait<S::kSolve>() + kTileElements;
      begin_products();
      state.start_update(ring);
      commit_products();
      start_product<LeftStorage::kRows, Product::kAdd>(sums, scores, shared.r);
      commit_products();
      wait_products<1>();
      wait_transfer(meetings.state_read, parity);
      publish_state();
      if (index > 0) wait_transfer(meetings.output_read, parity ^ 1);
      wait_products<0>();
      arrive_as_warp(meetings.rows_read);
      publish_output<S>(shared.o, sums, p.scale);
      arrive(meetings.output_stands);
    }
  }
};

// Bulk stores, for the backward, of what the CTA holds of a chunk's tiles: of S entering it, or of R.
template <class S>
__device__ __forceinline__ void keep(typename S::Operand* tile, int64_t block_stride,
                                     const typename S::Operand* columns, int first_column) {
  constexpr int kColumns = S::kColumns < kChunk ? S::kColumns : kChunk;
  for (int block = 0; block < S::kColumns / kColumns; ++block)
    store_bulk(tile + block * block_stride + first_column % kChunk * kChunk,
               columns + block * kTileElements, kColumns * kChunk * sizeof(typename S::Operand));
}

// The thread that fills the ring and keeps states and rows.
template <class S>
__device__ __forceinline__ void feed_chunks(WarpgroupShared<S>& shared,
                                            const Intermediates<typename S::Operand>& m) {
  Meetings& meetings = shared.meetings;
  const Work& work = shared.work;
  Feeder<S> feeder(shared, m);
  feeder.start();
  for (int index = 0; index < work.chunks; ++index) {
    const int64_t c = work.sequence.first_chunk + index;
    const int value_block = work.first_column / kChunk;
    wait_transfer(meetings.state_stands, index % 2);
    if (m.h != nullptr) {
      for (int kb = 0; kb < S::kKeyBlocks; ++kb)
        keep<S>(m.h_tile(c, work.hv, value_block, kb), int64_t{m.kb} * kTileElements,
                shared.state[kb], work.first_column);
      wait_bulk_stores_read();
    }
    arrive(meetings.state_read);
    if (index > 0) {
      wait_transfer(meetings.rows_read, (index - 1) % 2);
      feeder.template refill<S::kSolve, S::kSteps>(index - 1);
    }
    wait_transfer(meetings.rows_stand, index % 2);
    wait_transfer(meetings.state_read, index % 2);
    feeder.template refill<0, S::kSolve>(index);
    if (m.r != nullptr) {
      keep<S>(m.r_tile(c, work.hv, value_block), kTileElements, shared.r, work.first_column);
      wait_bulk_stores_read();
    }
    arrive(meetings.rows_read);
  }
}

// A carrier warp: v and w in, Z formed of them, o out.
template <class S>
__device__ __forceinline__ void carry_chunks(WarpgroupShared<S>& shared, const DeviceProblem& p) {
  Meetings& meetings = shared.meetings;
  Carrier<S> carrier(shared, p, row_of_warp());
  for (int i = 0; i < S::kValueBuffers; ++i) carrier.fetch();
  const auto take_output = [&](int index) {
    wait_transfer(meetings.output_stands, index % 2);
    if (p.o.data != nullptr) carrier.store(index);
    arrive(meetings.output_read);
  };
  const int chunks = shared.work.chunks;
  for (int index = 0; index < chunks; ++index) {
    copy_wait<S::kValueBuffers - 1>();
    sync_warp();
    if (index > 0) wait_transfer(meetings.targets_read, (index - 1) % 2);
    publish_targets(shared, shared.values[index % S::kValueBuffers]);
    publish_to_engines();
    arrive_as_warp(meetings.targets_stand);
    carrier.fetch();  // in place of what is read
    if (index > 0) take_output(index - 1);
  }
  if (chunks > 0) take_output(chunks - 1);
}

template <class S, int Group>
__device__ __forceinline__ void walk_sequence(WarpgroupShared<S>& shared, const DeviceProblem& p,
                                              const ScanStages& stages) {
  const Work& work = shared.work;
  GroupState<S, Group> state;
  wait_for_previous();
  state.for_each_tile([&](Accumulator& s, int channel, int column) {
    s = load_state_tile(transposed(p.h0), work.n, work.hv, channel, work.first_column + column, p.K,
                        p.V);
  });
  Walk<S, Group> walk{shared, p, stages, state};
  if constexpr (Group == 0) {
    walk.solve_chunks();
  } else {
    walk.read_chunks();
  }
  state.for_each_tile([&](const Accumulator& s, int channel, int column) {
    store_state_tile(transposed(p.ht), s, work.n, work.hv, channel, work.first_column + column, p.K,
                     p.V);
  });
}

template <class S>
__global__ void __launch_bounds__(S::kThreads, 1)
    scan_warpgroup_kernel(DeviceProblem p, Intermediates<typename S::Operand> m,
                          ScanStages stages) {
  if constexpr (kHopper) {
    auto& shared = shared_as<WarpgroupShared<S>>();
    if (thread_index() == 0) {
      let_next_start();  // prep of the next part
      shared.work = work_of<S>(p, m.vb);
      for (Transfer& transfer : shared.arrives) start_transfer(transfer, 1);
      shared.meetings.start();
      publish_to_engines();
    }
    sync_threads();
    const int group = shuffle(warp_index() / 4, 0);  // the same for all, as the compiler sees
    if (group == 0) {
      raise_registers<S::kRegisters>();
      walk_sequence<S, 0>(shared, p, stages);
    } else if (group == 1) {
      raise_registers<S::kRegisters>();
      walk_sequence<S, 1>(shared, p, stages);
    } else if (group == 2) {
      lower_registers<S::kCarrierRegisters>();
      carry_chunks(shared, p);
    } else {
      lower_registers<S::kFeederRegisters>();
      if (thread_index() != 3 * kWarpgroup) return;
      wait_for_previous();
      feed_chunks(shared, m);
    }
  }
}

template <class S>
int64_t ctas(const DeviceProblem& p) {
  return p.N * p.HV * (value_blocks(p.V) * kChunk / S::kColumns);
}

template <class S>
void launch_warpgroup_shape(const DeviceProblem& p, const Intermediates<typename S::Operand>& m,
                            const ScanStages& stages) {
  static_assert(sizeof(WarpgroupShared<S>) <= 227 * 1024);
  launch_from(Start::kBeside, "scan_warpgroup", scan_warpgroup_kernel<S>,
              dim3(static_cast<unsigned>(ctas<S>(p))), S::kThreads, sizeof(WarpgroupShared<S>),
              p.stream, p, m, stages);
}

// function(WarpgroupShape<..>{}) with how the scan of this problem is cut: the widest parts that give
// most multiprocessors a CTA, since every CTA reads the whole record.
template <class P, class Function>
void with_warpgroup_shape(const DeviceProblem& p, const Function& function) {
  const int64_t device = multiprocessors();
  const int64_t blocks = value_blocks(p.V), ctas = p.N * p.HV * blocks;  // of 64 columns
  dispatch_padded(p.K, [&](auto kp) {
    constexpr int KB = decltype(kp)::value / kChunk;
    if constexpr (KB <= 2) {
      if (blocks % 2 == 0 && ctas / 2 > device * 3 / 4) return function(WarpgroupShape<P, KB, 8>{});
    }
    if (ctas > device / 2) return function(WarpgroupShape<P, KB, 4>{});
    function(WarpgroupShape<P, KB, 2>{});
  });
}

}  // namespace scan

template <class P>
void launch_scan_warpgroup(const DeviceProblem& p, const Intermediates<typename P::Operand>& m,
                           const ScanStages& stages) {
  scan::with_warpgroup_shape<P>(
      p, [&](auto shape) { scan::launch_warpgroup_shape<decltype(shape)>(p, m, stages); });
}

template <class P>
int64_t scan_warpgroup_ctas(const DeviceProblem& p) {
  int64_t ctas = 0;
  scan::with_warpgroup_shape<P>(p, [&](auto shape) { ctas = scan::ctas<decltype(shape)>(p); });
  return ctas;
}

template <class P>
size_t scan_warpgroup_shared_bytes(const DeviceProblem& p) {
  size_t bytes = 0;
  scan::with_warpgroup_shape<P>(
      p, [&](auto shape) { bytes = sizeof(scan::WarpgroupShared<decltype(shape)>); });
  return bytes;
}

template void launch_scan_warpgroup<Bf16Products>(const DeviceProblem&, const Intermediates<Bf16>&,
                                                  const ScanStages&);
template void launch_scan_warpgroup<Fp16Products>(const DeviceProblem&, const Intermediates<Fp16>&,
                                                  const ScanStages&);
template int64_t scan_warpgroup_ctas<Bf16Products>(const DeviceProblem&);
template int64_t scan_warpgroup_ctas<Fp16Products>(const DeviceProblem&);
template size_t scan_warpgroup_shared_bytes<Bf16Products>(const DeviceProblem&);
template size_t scan_warpgroup_shared_bytes<Fp16Products>(const DeviceProblem&);

}  // namespace gdr2::cuda
