// SPDX-License-Identifier: Apache-2.0
// The sequential part of the chunk form: walks the chunks of a sequence in order and carries the
// state S. One CTA a sequence, value head and tile of V's columns (columns are independent). Reads
// prep's records, v, w and h0; writes what is asked for: o, ht, the states entering the chunks (h)
// and the rows u (r).
#pragma once

#include "kernels/cuda/device/fragment.cuh"
#include "kernels/cuda/intermediates.hpp"

namespace gdr2::cuda {

// Exported in fp32 before rounding; null data: not wanted.
struct ScanStages {
  StageTensor H{};  // [chunks, HV, K, V]
  StageTensor R{};  // [chunks, HV, 64, V]
};

// Enqueues it; prep has run. m.h and m.r are filled when not null, p.o and p.ht when their data is
// not null. The results' bits do not depend on how V is cut.
template <class P>
void launch_scan(const DeviceProblem& problem, const Intermediates<typename P::Operand>& m,
                 const ScanStages& stages);

// Is the scan so narrow that it leaves most of the device idle, and long enough that the key side of
// later chunks had better be formed beside it?
template <class P>
bool scan_leaves_room(const DeviceProblem& problem);

// The shared memory of a CTA, in bytes.
template <class P>
size_t scan_shared_bytes(const DeviceProblem& problem);

}  // namespace gdr2::cuda
