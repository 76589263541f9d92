// SPDX-License-Identifier: Apache-2.0
// The reverse scan (reverse_scan.hpp) in IEEE fp32: fused multiply-adds on shared memory instead of
// tensor cores.
#pragma once

#include "kernels/cuda/reverse_scan.hpp"

namespace gdr2::cuda {

void launch_reverse_scan_fp32(const DeviceProblem& problem, const Intermediates<float>& records,
                              const Adjoints<float>& adjoints, const AdjointStages& stages);

size_t reverse_scan_fp32_shared_bytes(const DeviceProblem& problem);

}  // namespace gdr2::cuda
