// SPDX-License-Identifier: Apache-2.0
// Kernels behind the C interface (gdr2_kernel.h) as Kernel objects. Whole storages travel, padding
// and guard bands included, to the library's memory and back, so that a stray write shows. Workspace
// and saved buffers are poisoned before every call.
#pragma once

#include <memory>
#include <string>

#include "kernels/abi/gdr2_kernel.h"
#include "kernels/kernel.hpp"

namespace gdr2 {

/// How the backward gets the forward's intermediates: from a buffer that a forward call filled, or
/// by recomputing them.
enum class Intermediates { kSaved, kRecomputed };

/// The chunk entry points (forward, backward). `table` outlives the kernel. Throws Error on a wrong
/// ABI version or a missing function.
std::unique_ptr<Kernel> make_abi_chunk_kernel(const gdr2_kernel* table, std::string name,
                                              std::string description,
                                              Intermediates intermediates);

/// The decode entry point as a forward kernel: sequences of equal length, each continuing a slot of
/// a pool (scattered slots, spare ones between) that starts with h0 and ends with ht.
std::unique_ptr<Kernel> make_abi_decode_kernel(const gdr2_kernel* table, std::string name,
                                               std::string description);

}  // namespace gdr2
