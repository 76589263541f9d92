// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/forward.hpp"

#include "kernels/cuda/chunk_index.hpp"
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/prep_and_scan.hpp"

namespace gdr2::cuda {

uint64_t forward_workspace_bytes(const DeviceProblem& problem, bool with_saved) {
  uint64_t bytes = 0;
  dispatch_products(problem, [&](auto policy) {
    DeviceProblem p = problem;
    Workspace workspace(nullptr);
    place_chunk_index(p, workspace);
    place_hand_over<decltype(policy)>(p, workspace);
    if (!with_saved) place_intermediates<typename decltype(policy)::Operand>(p, workspace, false);
    bytes = workspace.bytes();
  });
  return bytes;
}

uint64_t saved_bytes(const DeviceProblem& problem) {
  uint64_t bytes = 0;
  dispatch_products(problem, [&](auto policy) {
    Workspace saved(nullptr);
    place_intermediates<typename decltype(policy)::Operand>(problem, saved, true);
    bytes = saved.bytes();
  });
  return bytes;
}

uint32_t forward_stages() {
  return 1u << GDR2_STAGE_H | 1u << GDR2_STAGE_T | 1u << GDR2_STAGE_A | 1u << GDR2_STAGE_AQK |
         1u << GDR2_STAGE_Y | 1u << GDR2_STAGE_R;
}

void launch_forward(DeviceProblem p, const gdr2_outputs& outputs, gdr2_workspace& workspace) {
  Workspace scratch(workspace.data), saved(workspace.saved);
  place_chunk_index(p, scratch);
  build_chunk_index(p);
  const PrepStages key_side{
      stage_tensor(outputs.stage[GDR2_STAGE_T]), stage_tensor(outputs.stage[GDR2_STAGE_A]),
      stage_tensor(outputs.stage[GDR2_STAGE_AQK]), stage_tensor(outputs.stage[GDR2_STAGE_Y])};
  const ScanStages value_side{stage_tensor(outputs.stage[GDR2_STAGE_H]),
                              stage_tensor(outputs.stage[GDR2_STAGE_R])};
  dispatch_products(p, [&](auto policy) {
    using P = decltype(policy);
    const bool keep = workspace.saved != nullptr;
    const StateTensor hand_over = place_hand_over<P>(p, scratch);
    const auto m = place_intermediates<typename P::Operand>(p, keep ? saved : scratch, keep);
    launch_prep_and_scan<P>(p, m, hand_over, key_side, value_side);
  });
}

}  // namespace gdr2::cuda
