// SPDX-License-Identifier: Apache-2.0
// Decoding: T tokens a row, token by token, the fp32 state of slot[row] in the pool updated in
// place. Nothing here waits for the device or allocates.
#pragma once

#include "kernels/cuda/problem.cuh"

namespace gdr2::cuda {

// The states that rows continue, by slot.
struct DecodePool {
  StateTensor state;    // [slots, HV, K, V]
  const int32_t* slot;  // [B]
  int64_t slots;
};

// Enqueues the decoding of problem.B rows. A row with a negative slot touches no state and gets o
// = 0; one with a slot past the pool touches none either and gets o = NaN, since the host cannot
// see it. Slots of a call are distinct. Throws CudaError.
void launch_decode(const DeviceProblem& problem, const DecodePool& pool);

}  // namespace gdr2::cuda
