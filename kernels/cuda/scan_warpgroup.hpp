// SPDX-License-Identifier: Apache-2.0
// The scan (scan.hpp) on a Hopper GPU, 16-bit operands: products of whole warpgroups straight from
// shared memory, records by bulk copies. The same equations and rounding sites as scan.cu, with one
// difference to the better: in A Z what rounding took from Z is given back.
#pragma once

#include "kernels/cuda/scan.hpp"

namespace gdr2::cuda {

template <class P>
void launch_scan_warpgroup(const DeviceProblem& problem,
                           const Intermediates<typename P::Operand>& m, const ScanStages& stages);

// CTAs of the scan.
template <class P>
int64_t scan_warpgroup_ctas(const DeviceProblem& problem);

// The shared memory of a CTA, in bytes.
template <class P>
size_t scan_warpgroup_shared_bytes(const DeviceProblem& problem);

}  // namespace gdr2::cuda
