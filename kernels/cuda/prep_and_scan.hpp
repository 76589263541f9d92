// SPDX-License-Identifier: Apache-2.0
// Prep and scan of all chunks. A scan of few heads leaves most multiprocessors idle; of a long
// problem its sequences are then cut in two: prep of the second half runs beside the scan of the
// first, and the state is handed over in memory. Bits do not depend on it.
#pragma once

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/prep.hpp"
#include "kernels/cuda/scan.hpp"
#include "kernels/cuda/workspace.hpp"

namespace gdr2::cuda {

// The states between the halves, [N, HV, K, V]; absent where they are not cut.
template <class P>
StateTensor place_hand_over(const DeviceProblem& p, Workspace& workspace) {
  if (!scan_leaves_room<P>(p)) return {};
  const int64_t head = int64_t{p.K} * p.V;
  return {workspace.take<float>(p.N * p.HV * head), p.HV * head, head, p.V, 1};
}

// Kernels of one stream. A scan may start when all CTAs of its prep have, and waits for its end where
// it reads what that wrote. The second prep starts when all CTAs of the first scan have, so that these
// find their multiprocessors empty, and the second scan follows both.
template <class P>
void launch_prep_and_scan(const DeviceProblem& p, const Intermediates<typename P::Operand>& m,
                          const StateTensor& hand_over, const PrepStages& key_side,
                          const ScanStages& value_side) {
  if (hand_over.data == nullptr) {
    launch_prep<P>(p, m, key_side);
    launch_scan<P>(p, m, value_side);
    return;
  }
  DeviceProblem first = p, rest = p;
  first.part = {0, 2};
  first.ht = hand_over;
  rest.part = {1, 2};
  rest.h0 = hand_over;
  launch_prep<P>(first, m, key_side);
  launch_scan<P>(first, m, value_side);
  launch_prep<P>(rest, m, key_side);
  launch_scan<P>(rest, m, value_side);
}

}  // namespace gdr2::cuda
