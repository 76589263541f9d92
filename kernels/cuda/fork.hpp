// SPDX-License-Identifier: Apache-2.0
// Work beside a stream: what is enqueued on side() follows what stands on the stream when the Fork
// is made, and what is enqueued on the stream after join() follows both. Nothing waits on the host,
// and a capture of the stream takes the side along. The side is a stream of the calling thread, so
// that threads do not meet.
#pragma once

#include "kernels/cuda/device/launch.cuh"

namespace gdr2::cuda {

#if defined(GDR2_CUDA_ON_HOST)

class Fork {
 public:
  explicit Fork(Stream stream) : stream_(stream) {}
  Stream side() const { return stream_; }
  void join() const {}

 private:
  Stream stream_;
};

#else

class Fork {
 public:
  explicit Fork(Stream stream);
  Stream side() const;
  void join() const;

 private:
  struct Side {
    int device;
    cudaStream_t stream;
    cudaEvent_t forked, joined;
  };
  static const Side& side_of_thread();

  Stream stream_;
  const Side& side_;
};

#endif

}  // namespace gdr2::cuda
