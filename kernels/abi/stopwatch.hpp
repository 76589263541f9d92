// SPDX-License-Identifier: Apache-2.0
// Times calls in a memory space: on a device with events around each call, after something larger than
// its caches has been written; on the host with the wall clock. And what a copy there reaches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/abi/gdr2_kernel.h"

namespace gdr2 {

/// Milliseconds of each call. Calls enqueue their work on the default stream.
std::vector<double> time_calls(gdr2_memory memory, int repetitions, const std::function<void()>& call);

/// Bytes read and written a nanosecond by a large copy; 0 when it cannot be measured.
double measured_copy_gb_per_s(gdr2_memory memory);

/// "NVIDIA H200", or "host".
std::string device_name(gdr2_memory memory);

}  // namespace gdr2
