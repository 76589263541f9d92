// SPDX-License-Identifier: Apache-2.0
// The CPU kernels: cpu.chunk (the chunk form under the contract of the problem's dtype) and
// cpu.recurrent (the token loop, at accumulator width throughout). They support every problem and
// round to nearest at the sites of their contract.
#pragma once

#include <memory>

#include "kernels/kernel.hpp"

namespace gdr2 {

std::unique_ptr<Kernel> make_cpu_chunk_kernel();
std::unique_ptr<Kernel> make_cpu_recurrent_kernel();

}  // namespace gdr2
