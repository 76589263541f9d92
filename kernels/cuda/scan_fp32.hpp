// SPDX-License-Identifier: Apache-2.0
// The scan (scan.hpp) in IEEE fp32: fused multiply-adds on shared memory instead of tensor cores.
#pragma once

#include "kernels/cuda/scan.hpp"

namespace gdr2::cuda {

void launch_scan_fp32(const DeviceProblem& problem, const Intermediates<float>& m, const ScanStages& stages);

size_t scan_fp32_shared_bytes(const DeviceProblem& problem);

}  // namespace gdr2::cuda
