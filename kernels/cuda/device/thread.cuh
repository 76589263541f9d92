// SPDX-License-Identifier: Apache-2.0
// Who am I and who waits for whom: indices of thread, warp and CTA, barriers, the dynamic shared
// memory. Blocks are one-dimensional.
#pragma once

#include "kernels/cuda/device/platform.cuh"

namespace gdr2::cuda {

#if defined(GDR2_CUDA_ON_HOST)

inline int thread_index() { return on_host::thread_index(); }
inline int block_size() { return on_host::block_size(); }
inline dim3 block_index() { return on_host::block_index(); }
inline dim3 grid_size() { return on_host::grid_size(); }
inline void sync_threads() { on_host::barrier(0, on_host::block_size()); }
inline void sync_named(int id, int threads) { on_host::barrier(id, threads); }
inline void sync_warp() { on_host::warp_barrier(); }
inline void let_next_start() {}
inline void wait_for_previous() {}
inline unsigned char* shared_memory() { return on_host::shared_memory(); }

#else

__device__ __forceinline__ int thread_index() { return static_cast<int>(threadIdx.x); }
__device__ __forceinline__ int block_size() { return static_cast<int>(blockDim.x); }
__device__ __forceinline__ dim3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
__device__ __forceinline__ dim3 grid_size() { return {gridDim.x, gridDim.y, gridDim.z}; }

// All threads of the CTA.
__device__ __forceinline__ void sync_threads() { __syncthreads(); }

// `threads` threads (a multiple of 32) meet at barrier `id`, 1 <= id <= 15.
__device__ __forceinline__ void sync_named(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// The 32 lanes of a warp: orders their accesses to memory.
__device__ __forceinline__ void sync_warp() { __syncwarp(); }

// A kernel that was launched as Start::kBeside starts when every CTA of the kernel before it on the
// stream has called let_next_start() or has ended. wait_for_previous() returns when that kernel and
// all before it have ended; called by any one thread, the kernel behind waits for them too.
__device__ __forceinline__ void let_next_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The CTA's dynamic shared memory, 1024-byte aligned. Undefined at the start (the emulation fills
// it with NaN).
__device__ __forceinline__ unsigned char* shared_memory() {
  extern __shared__ __align__(1024) unsigned char gdr2_shared_bytes[];
  return gdr2_shared_bytes;
}

#endif

// x itself, of which the compiler knows nothing: what is computed from it is not moved out of a
// loop, where it would occupy registers for a rarely taken branch.
template <class T>
__device__ __forceinline__ T not_hoisted(T x) {
#if !defined(GDR2_CUDA_ON_HOST)
  if constexpr (sizeof(T) == 8) {
    asm volatile("" : "+l"(x));
  } else {
    asm volatile("" : "+r"(x));
  }
#endif
  return x;
}

__device__ __forceinline__ int lane_index() { return thread_index() % kWarp; }
__device__ __forceinline__ int warp_index() { return thread_index() / kWarp; }

// lane_index() and thread_index() at the start of a phase of a kernel: what the phase derives from
// them (addresses, mostly) is neither shared with other phases nor moved out of loops, where it
// would occupy registers all along.
__device__ __forceinline__ int fresh_lane_index() {
  return not_hoisted(thread_index()) & (kWarp - 1);
}
__device__ __forceinline__ int fresh_thread_index() { return not_hoisted(thread_index()) & 1023; }

// Warp and lane of this thread; here() as above.
struct ThreadPlace {
  int warp, lane;
  static __device__ __forceinline__ ThreadPlace here() {
    const int thread = fresh_thread_index();
    return {thread / kWarp, thread % kWarp};
  }
  __device__ __forceinline__ int thread() const { return warp * kWarp + lane; }
};

// The dynamic shared memory as one struct (trivial, arrays only); launch with sizeof(T) bytes.
template <class T>
__device__ __forceinline__ T& shared_as() {
  static_assert(alignof(T) <= 1024);
  return *reinterpret_cast<T*>(shared_memory());
}

}  // namespace gdr2::cuda
