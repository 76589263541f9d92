// SPDX-License-Identifier: Apache-2.0
// The two operations on elements in host memory (all threads) and on a device. What calls them is
// MemorySpace (kernels/abi/memory_space.hpp).
#pragma once

#include "kernels/resident/elements.hpp"

namespace gdr2 {

namespace host {

/// a = factor * b + shift, rounded to a's dtype; with a factor of 0 nothing is read and a = shift.
void transform(const ElementPairs& pairs, double factor, double shift);
Mismatches compare(const ElementPairs& pairs);

}  // namespace host

namespace cuda {

/// As above, enqueued on the default stream. Throws CudaError.
void transform(const ElementPairs& pairs, double factor, double shift);

/// CTAs that compare so many pairs, each with one entry of `found`, on the device.
int compare_blocks(std::int64_t count);
void compare(const ElementPairs& pairs, Mismatches* found);

}  // namespace cuda

}  // namespace gdr2
