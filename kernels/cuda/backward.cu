// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/backward.hpp"

#include "kernels/cuda/chunk_index.hpp"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/gradients.hpp"
#include "kernels/cuda/parameter_gradients.hpp"
#include "kernels/cuda/prep_and_scan.hpp"
#include "kernels/cuda/reverse_scan.hpp"

namespace gdr2::cuda {

uint64_t backward_workspace_bytes(const DeviceProblem& problem, bool with_saved) {
  uint64_t bytes = 0;
  dispatch_products(problem, [&](auto policy) {
    using Operand = typename decltype(policy)::Operand;
    DeviceProblem p = problem;
    Workspace workspace(nullptr);
    place_chunk_index(p, workspace);
    place_hand_over<decltype(policy)>(p, workspace);
    place_adjoints<Operand>(p, workspace);
    if (!with_saved) place_intermediates<Operand>(p, workspace, true);
    bytes = workspace.bytes();
  });
  return bytes;
}

uint32_t backward_stages() {
  return 1u << GDR2_STAGE_DH | 1u << GDR2_STAGE_DR | 1u << GDR2_STAGE_P;
}

// The records, states and rows R once more, without outputs.
template <class P>
static void recompute(DeviceProblem p, const Intermediates<typename P::Operand>& m,
                      const StateTensor& hand_over) {
  p.o.data = nullptr;
  p.ht.data = nullptr;
  launch_prep_and_scan<P>(p, m, hand_over, {}, {});
}

void launch_backward(DeviceProblem p, const gdr2_gradients& gradients, gdr2_workspace& workspace) {
  Workspace scratch(workspace.data), saved(workspace.saved);
  place_chunk_index(p, scratch);
  build_chunk_index(p);
  const AdjointStages stages{stage_tensor(gradients.stage[GDR2_STAGE_DH]),
                             stage_tensor(gradients.stage[GDR2_STAGE_DR]),
                             stage_tensor(gradients.stage[GDR2_STAGE_P])};
  dispatch_products(p, [&](auto policy) {
    using P = decltype(policy);
    using Operand = typename P::Operand;
    const bool kept = workspace.saved != nullptr;
    const StateTensor hand_over = place_hand_over<P>(p, scratch);
    const auto adjoints = place_adjoints<Operand>(p, scratch);
    const auto m = place_intermediates<Operand>(p, kept ? saved : scratch, true);
    if (!kept) recompute<P>(p, m, hand_over);
    launch_reverse_scan<P>(p, m, adjoints, stages);
    launch_gradients<P>(p, m, adjoints);
    launch_parameter_gradients(p, adjoints.bias_partial, adjoints.log_rate_partial);
  });
}

}  // namespace gdr2::cuda
