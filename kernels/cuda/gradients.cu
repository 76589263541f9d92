// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/gradients.hpp"

#include "kernels/cuda/gradient_intra.cuh"
#include "kernels/cuda/gradient_loads.cuh"
#include "kernels/cuda/gradient_norm.cuh"

namespace gdr2::cuda {
namespace gradients {

// One chunk and key head.
template <class P>
struct Item {
  Shared<P>& shared;
  const DeviceProblem& p;
  const Intermediates<typename P::Operand>& states;
  const Adjoints<typename P::Operand>& adjoints;
  int64_t c;
  int head;
  Chunk chunk;

  // All value heads and value blocks of the group for channel block kb. With two stages the next
  // operands are on their way during the products, at last the inputs.
  __device__ __forceinline__ void sum_over_values(Sums& sums, Scores& scores, int kb) {
    constexpr int kStages = Shared<P>::kStages, kAhead = kStages - 1;
    const int steps = p.group * adjoints.vb;
    const auto stage = [&](int step) -> auto& {
      return shared.operands[(step + steps) % kStages];
    };  // of the last step: the last
#pragma unroll 1
    for (int step = -kAhead; step < steps; ++step) {
      const int ahead = step + kAhead;
      copy_wait<0>();
      sync_threads();
      if (ahead < steps) {
        const ValuePart part{head * p.group + ahead / adjoints.vb, ahead % adjoints.vb};
        load_operands<P>(stage(ahead), p, states, adjoints, chunk, c, part, kb);
      } else {
        load_inputs<P>(shared.columns.inputs, p, chunk, head, kb);
      }
      copy_commit();
      if (step < 0) continue;
      if (kAhead == 0) {
        copy_wait<0>();
        sync_threads();
      }
      add_products<P>(sums, scores, stage(step), kb == 0);
    }
    if (kAhead == 0) {
      sync_threads();
      load_inputs<P>(shared.columns.inputs, p, chunk, head, kb);
      copy_commit();
    }
    copy_wait<0>();
    sync_threads();
  }

  __device__ __forceinline__ void store_gate_sums(int kb) {
    if (adjoints.bias_partial == nullptr || thread_index() >= 2 * kChunk) return;
    const int which = thread_index() / kChunk, channel = thread_index() % kChunk;
    float sum = 0.0f;
    for (int block = 0; block < kRowBlocks; ++block)
      sum += shared.columns.rows.e[(block * kTile + which) * kLd + channel];
    float* target = which == 0 ? adjoints.bias_partial : adjoints.log_rate_partial;
    target[adjoints.partial(c, head) + kb * kChunk + channel] = sum;
  }

  __device__ __forceinline__ void run(int kb) {
    Sums sums;
    Scores scores;
    clear(sums, scores);
    sum_over_values(sums, scores, kb);
    if (kb == 0) store_scores(shared, scores, p.scale);
    apply_signs(sums, p.scale);
    store_state_product(shared, sums);
    const Column column = column_of(p, chunk, head, kb);
    form_log_decays(shared, p, column);
    store_decayed_rows(shared, column, p.neg_eigval ? 2.0f : 1.0f);
    sync_threads();
    add_earlier_blocks(shared, sums, row_block());
    add_later_blocks(shared, sums, row_block());
    sync_threads();
    store_sums(shared, sums);
    sync_threads();
    finish_columns(shared, p, column, waiting_of(shared, p, adjoints, c, head, kb));
    sync_threads();
    store_gate_sums(kb);
  }
};

// A chunk index past the last chunk: nothing to sum.
template <class Operand>
__device__ __forceinline__ void clear_gate_sums(const Adjoints<Operand>& adjoints, int64_t c,
                                                int head) {
  if (adjoints.bias_partial == nullptr) return;
  for (int i = thread_index(); i < adjoints.kb * kChunk; i += kThreads)
    adjoints.bias_partial[adjoints.partial(c, head) + i] =
        adjoints.log_rate_partial[adjoints.partial(c, head) + i] = 0.0f;
}

template <class P>
__global__ void __launch_bounds__(kThreads, Shared<P>::kStages)
    gradients_kernel(DeviceProblem p, Intermediates<typename P::Operand> states,
                     Adjoints<typename P::Operand> adjoints) {
  auto& shared = shared_as<Shared<P>>();
  const int64_t c = block_index().x / p.H;
  const int head = static_cast<int>(block_index().x % p.H);
  Item<P> item{shared, p, states, adjoints, c, head, chunk_at(p, c)};
  if (item.chunk.rows == 0) return clear_gate_sums(adjoints, c, head);
  load_inverse_norms(shared, states, item.chunk, c, head);
#pragma unroll 1
  for (int kb = 0; kb < adjoints.kb; ++kb) item.run(kb);
  if (p.l2norm) store_norm_gradients(shared, p, adjoints, item.chunk, c, head);
}

}  // namespace gradients

template <class P>
void launch_gradients(const DeviceProblem& problem,
                      const Intermediates<typename P::Operand>& states,
                      const Adjoints<typename P::Operand>& adjoints) {
  using Shared = gradients::Shared<P>;
  const int64_t blocks = problem.chunk_bound * problem.H;
  launch("gradients", gradients::gradients_kernel<P>, dim3(static_cast<unsigned>(blocks)),
         gradients::kThreads, sizeof(Shared), problem.stream, problem, states, adjoints);
}

#define GDR2_INSTANTIATE(P)                                                                 \
  template void launch_gradients<P>(const DeviceProblem&, const Intermediates<P::Operand>&, \
                                    const Adjoints<P::Operand>&);
GDR2_INSTANTIATE(Bf16Products)
GDR2_INSTANTIATE(Fp16Products)
GDR2_INSTANTIATE(Tf32Products)
GDR2_INSTANTIATE(Fp32Products)
#undef GDR2_INSTANTIATE

}  // namespace gdr2::cuda
