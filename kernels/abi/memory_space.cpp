// SPDX-License-Identifier: Apache-2.0
#include "kernels/abi/memory_space.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "kernels/resident/elementwise.hpp"
#include "reference/error.hpp"

#ifdef GDR2_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace gdr2 {
namespace {

constexpr std::size_t kAlignment = 256;

const MemorySpace kHost{
    [](std::size_t bytes) -> void* { return ::operator new(bytes, std::align_val_t(kAlignment)); },
    [](void* pointer) noexcept { ::operator delete(pointer, std::align_val_t(kAlignment)); },
    [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); },
    [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); },
    [](void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); },
    [](void* to, std::byte pattern, std::size_t bytes) { std::memset(to, int(pattern), bytes); },
    [] {},
    host::transform,
    host::compare};

#ifdef GDR2_HAVE_CUDA

void must(cudaError_t status, const char* call) {
  if (status != cudaSuccess) fail("{}: {}", call, cudaGetErrorString(status));
}

Mismatches compare_on_device(const ElementPairs& pairs);

const MemorySpace kCuda{
    [](std::size_t bytes) -> void* {
      void* pointer = nullptr;
      must(cudaMalloc(&pointer, bytes), "cudaMalloc");
      return pointer;
    },
    [](void* pointer) noexcept { cudaFree(pointer); },
    [](void* to, const void* from, std::size_t bytes) {
      must(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    },
    [](void* to, const void* from, std::size_t bytes) {
      must(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
    },
    [](void* to, const void* from, std::size_t bytes) {
      must(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "cudaMemcpy on the device");
    },
    [](void* to, std::byte pattern, std::size_t bytes) {
      must(cudaMemset(to, int(pattern), bytes), "cudaMemset");
    },
    [] { must(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); },
    cuda::transform,
    compare_on_device};

Mismatches compare_on_device(const ElementPairs& pairs) {
  std::vector<Mismatches> found(cuda::compare_blocks(pairs.count()));
  const SpaceBuffer of_blocks(kCuda, found.size() * sizeof(Mismatches));
  auto* first = reinterpret_cast<Mismatches*>(of_blocks.get());
  cuda::compare(pairs, first);
  kCuda.download(found.data(), first, found.size() * sizeof(Mismatches));
  Mismatches all;
  for (const auto& block : found) all.add(block);
  return all;
}

const char* why_no_cuda() {
  int devices = 0;
  const auto status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return devices ? "" : "no CUDA device";
}

#else

const char* why_no_cuda() { return "this build has no CUDA"; }

#endif

}  // namespace

const char* why_unavailable(gdr2_memory memory) {
  if (memory == GDR2_HOST) return "";
  static const char* const reason = why_no_cuda();
  return reason;
}

const MemorySpace& memory_space(gdr2_memory memory) {
  if (*why_unavailable(memory)) fail("CUDA memory: {}", why_unavailable(memory));
#ifdef GDR2_HAVE_CUDA
  if (memory == GDR2_CUDA) return kCuda;
#endif
  return kHost;
}

}  // namespace gdr2
