// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/fork.hpp"

#if !defined(GDR2_CUDA_ON_HOST)

#include <list>

namespace gdr2::cuda {

// One for each device that the thread has used; never destroyed, since CUDA may be gone when the
// thread ends.
const Fork::Side& Fork::side_of_thread() {
  static thread_local auto& sides = *new std::list<Side>;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  for (const Side& side : sides)
    if (side.device == device) return side;
  Side side{device, nullptr, nullptr, nullptr};
  check(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreateWithFlags(&side.forked, cudaEventDisableTiming), "cudaEventCreate");
  check(cudaEventCreateWithFlags(&side.joined, cudaEventDisableTiming), "cudaEventCreate");
  return sides.emplace_back(side);
}

Fork::Fork(Stream stream) : stream_(stream), side_(side_of_thread()) {
  check(cudaEventRecord(side_.forked, stream_), "cudaEventRecord");
  check(cudaStreamWaitEvent(side_.stream, side_.forked, 0), "cudaStreamWaitEvent");
}

Stream Fork::side() const { return side_.stream; }

void Fork::join() const {
  check(cudaEventRecord(side_.joined, side_.stream), "cudaEventRecord");
  check(cudaStreamWaitEvent(stream_, side_.joined, 0), "cudaStreamWaitEvent");
}

}  // namespace gdr2::cuda

#endif
