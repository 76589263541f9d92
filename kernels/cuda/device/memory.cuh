// SPDX-License-Identifier: Apache-2.0
// Moving 16 bytes at once: loads and stores that bypass or stream through the caches, and the
// asynchronous copy from global to shared memory. All pointers are 16-byte aligned.
#pragma once

#include "kernels/cuda/device/thread.cuh"

namespace gdr2::cuda {

using Pack16 = Pack<uint32_t, 4>;

// A load of data that no thread writes during the kernel and that is read once (no allocation in
// L1).
__device__ __forceinline__ Pack16 load_once_16(const void* source) {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::check_aligned(source, 16, "load_once_16");
  return *static_cast<const Pack16*>(source);
#else
  Pack16 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x[0]), "=r"(v.x[1]), "=r"(v.x[2]), "=r"(v.x[3])
               : "l"(source));
  return v;
#endif
}

// A load of data that no thread writes during the kernel: it may move ahead of stores.
template <class T>
__device__ __forceinline__ T load_read_only(const T* source) {
#if defined(GDR2_CUDA_ON_HOST)
  return *source;
#else
  if constexpr (sizeof(T) == 2) {
    const uint16_t bits = __ldg(reinterpret_cast<const uint16_t*>(source));
    return *reinterpret_cast<const T*>(&bits);
  } else {
    return __ldg(source);
  }
#endif
}

// Four of them, aligned to four.
template <class T>
__device__ __forceinline__ Pack<T, 4> load_read_only_four(const T* source) {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::check_aligned(source, 4 * sizeof(T), "load_read_only_four");
  return *reinterpret_cast<const Pack<T, 4>*>(source);
#else
  Pack<T, 4> x;
  if constexpr (sizeof(T) == 2) {
    *reinterpret_cast<uint2*>(&x) = __ldg(reinterpret_cast<const uint2*>(source));
  } else {
    *reinterpret_cast<uint4*>(&x) = __ldg(reinterpret_cast<const uint4*>(source));
  }
  return x;
#endif
}

// A store of data that this kernel does not read again (evicted first).
__device__ __forceinline__ void store_streaming_16(void* target, Pack16 v) {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::check_aligned(target, 16, "store_streaming_16");
  *static_cast<Pack16*>(target) = v;
#else
  asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(target), "r"(v.x[0]),
               "r"(v.x[1]), "r"(v.x[2]), "r"(v.x[3])
               : "memory");
#endif
}

// Starts copying 16 bytes from global to shared memory; with `valid` false writes zeros and reads
// nothing (source still has to be a pointer into a live buffer). The bytes may be read by this
// thread after copy_wait, by others after a barrier behind that.
__device__ __forceinline__ void copy_async_16(void* shared, const void* global, bool valid) {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::copy_async(shared, global, 16, valid);
#else
  const uint32_t target = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(target), "l"(global),
               "r"(valid ? 16 : 0)
               : "memory");
#endif
}

// The same of 8 or 4 bytes.
template <int Bytes>
__device__ __forceinline__ void copy_async_small(void* shared, const void* global, bool valid) {
  static_assert(Bytes == 8 || Bytes == 4);
#if defined(GDR2_CUDA_ON_HOST)
  on_host::copy_async(shared, global, Bytes, valid);
#else
  const uint32_t target = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(global),
               "n"(Bytes), "r"(valid ? Bytes : 0)
               : "memory");
#endif
}

// The same of always valid 16 bytes.
__device__ __forceinline__ void copy_async_16(void* shared, const void* global) {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::copy_async(shared, global, 16, true);
#else
  const uint32_t target = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(target), "l"(global)
               : "memory");
#endif
}

// Count copies of 16 bytes, each `Step` bytes further in both memories.
template <int Count, int Step, int Done = 0>
__device__ __forceinline__ void copy_async_block(void* shared, const void* global) {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::copy_async(static_cast<unsigned char*>(shared) + Done * Step,
                      static_cast<const unsigned char*>(global) + Done * Step, 16, true);
#else
  const uint32_t target = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global.L2::256B [%0 + %2], [%1 + %2], 16;" ::"r"(target),
               "l"(global), "n"(Done * Step)
               : "memory");
#endif
  if constexpr (Done + 1 < Count) copy_async_block<Count, Step, Done + 1>(shared, global);
}

// How the second-level cache keeps what is read, as createpolicy.fractional says it.
enum class Keep : uint64_t { kNormally = 0x1000000000000000, kBriefly = 0x12F0000000000000 };

// Count copies of 16 bytes, each `Step` bytes further in shared memory and `stride` elements further
// in global memory.
template <int Count, int Step, int Done = 0, class T>
__device__ __forceinline__ void copy_async_rows(void* shared, const T* global, int64_t stride,
                                                Keep keep) {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::copy_async(static_cast<unsigned char*>(shared) + Done * Step, global, 16, true);
#else
  const uint32_t target = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile(
      "cp.async.cg.shared.global.L2::cache_hint.L2::256B [%0 + %2], [%1], 16, %3;" ::"r"(target),
      "l"(global), "n"(Done * Step), "l"(keep)
      : "memory");
#endif
  if constexpr (Done + 1 < Count)
    copy_async_rows<Count, Step, Done + 1>(shared, global + stride, stride, keep);
}

// Closes the group of this thread's copies started since the last commit.
__device__ __forceinline__ void copy_commit() {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::copy_commit();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most `Pending` of this thread's latest groups are under way.
template <int Pending>
__device__ __forceinline__ void copy_wait() {
#if defined(GDR2_CUDA_ON_HOST)
  on_host::copy_wait(Pending);
#else
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

}  // namespace gdr2::cuda
