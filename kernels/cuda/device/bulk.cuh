// SPDX-License-Identifier: Apache-2.0
// Hopper's transfers: barriers in shared memory that count arrivals and bytes. A Transfer has phases;
// one is over when `arrivals` threads have arrived and all bytes that they expected are there, and
// whoever waits for its parity (0, 1, 0, ..) goes on and sees what was written before. Bytes come by
// bulk copies: one thread moves a contiguous piece (16-byte aligned, a multiple of 16 bytes)
// between global and shared memory, the copy engine does the rest.
//
// What ordinary stores wrote to shared memory is seen by bulk stores and warpgroup products after
// publish_to_engines() in the writing thread and a barrier behind it.
#pragma once

#include "kernels/cuda/device/thread.cuh"

namespace gdr2::cuda {

struct Transfer {
  uint64_t state;
};

#if defined(GDR2_CUDA_ON_HOST)

inline void start_transfer(Transfer& transfer, int arrivals) {
  on_host::start_transfer(&transfer, arrivals);
}
inline void arrive(Transfer& transfer) { on_host::arrive(&transfer); }
inline void expect_bytes(Transfer& transfer, uint32_t bytes) {
  on_host::expect_bytes(&transfer, bytes);
}
inline void copy_bulk(void* shared, const void* global, uint32_t bytes, Transfer& transfer) {
  on_host::copy_bulk(shared, global, bytes, &transfer);
}
inline void wait_transfer(Transfer& transfer, uint32_t parity) {
  on_host::wait_transfer(&transfer, parity);
}
inline void store_bulk(void* global, const void* shared, uint32_t bytes) {
  on_host::store_bulk(global, shared, bytes);
}
inline void wait_bulk_stores_read() {}
inline void publish_to_engines() {}

#else

__device__ __forceinline__ uint32_t shared_address(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// By one thread; publish_to_engines() and a barrier follow.
__device__ __forceinline__ void start_transfer(Transfer& transfer, int arrivals) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&transfer)),
               "r"(arrivals)
               : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

__device__ __forceinline__ void arrive(Transfer& transfer) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&transfer))
               : "memory");
#endif
}

// Arrives; the phase is not over before so many bytes have come by copy_bulk.
__device__ __forceinline__ void expect_bytes(Transfer& transfer, uint32_t bytes) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&transfer)),
      "r"(bytes)
      : "memory");
#endif
}

__device__ __forceinline__ void copy_bulk(void* shared, const void* global, uint32_t bytes,
                                          Transfer& transfer) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_address(&transfer))
      : "memory");
#endif
}

__device__ __forceinline__ void wait_transfer(Transfer& transfer, uint32_t parity) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(shared_address(&transfer)),
      "r"(parity)
      : "memory");
#endif
}

// Starts a copy from shared to global memory.
__device__ __forceinline__ void store_bulk(void* global, const void* shared, uint32_t bytes) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
               "r"(shared_address(shared)), "r"(bytes)
               : "memory");
#endif
}

// Until this thread's bulk stores have read their shared memory (it may be written again).
__device__ __forceinline__ void wait_bulk_stores_read() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
}

__device__ __forceinline__ void publish_to_engines() {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

#endif

// The warp arrives: one arrival, after all of its lanes.
__device__ __forceinline__ void arrive_as_warp(Transfer& transfer) {
  sync_warp();
  if (lane_index() == 0) arrive(transfer);
}

}  // namespace gdr2::cuda
