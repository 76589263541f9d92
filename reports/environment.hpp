// SPDX-License-Identifier: Apache-2.0
// Where a run takes place and what it was built from: the head of every record. Reads what the
// operating system says of itself; asks no device and needs no library.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/record.hpp"

namespace gdr2 {

/// "host", "os", "kernel", "cpu", "cores", "compiler", "flags", "build", "kernel_sources"; "cuda" when the GPU kernels
/// are built in; "device" and "driver" when there is an NVIDIA GPU.
std::map<std::string, std::string> environment();

/// A record without cases: version, sources, time and environment filled in.
RunRecord new_run(std::vector<std::string> argv);

}  // namespace gdr2
