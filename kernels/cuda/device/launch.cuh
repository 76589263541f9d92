// SPDX-License-Identifier: Apache-2.0
// Starting kernels and reporting what CUDA says. A failed call throws CudaError with the call's
// text and CUDA's own explanation; the C interface turns it into a status. Nothing here
// synchronises.
#pragma once

#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/cuda/device/platform.cuh"

namespace gdr2::cuda {

// When a kernel may start: when the one before it on the stream has ended, or beside it, as soon as
// that lets it (let_next_start).
enum class Start { kBehind, kBeside };

class CudaError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

#if defined(GDR2_CUDA_ON_HOST)

using Stream = void*;

template <class... Parameters, class... Arguments>
void launch_from(Start, const char* name, void (*kernel)(Parameters...), dim3 grid, int threads,
                 size_t shared_bytes, Stream, const Arguments&... arguments) {
  on_host::run(name, grid, threads, shared_bytes, [&] { kernel(Parameters(arguments)...); });
}

inline void fill_zero(void* target, size_t bytes, Stream) { on_host::fill_zero(target, bytes); }

inline bool is_hopper() { return on_host::compute_capability() == 90; }
inline int multiprocessors() { return on_host::multiprocessors(); }
inline size_t shared_memory_limit() { return on_host::shared_memory_limit(); }

#else

using Stream = cudaStream_t;

inline void check(cudaError_t code, const std::string& call) {
  if (code == cudaSuccess) return;
  throw CudaError(call + ": " + cudaGetErrorName(code) + ": " + cudaGetErrorString(code));
}

// Of the present device; `otherwise` where there is none.
inline int device_attribute(cudaDeviceAttr attribute, int otherwise) {
  int device = 0, value = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess &&
                     cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess;
  if (!known) cudaGetLastError();  // not the next call's fault
  return known ? value : otherwise;
}

// The present device runs code for sm_90a (kHopper).
inline bool is_hopper() { return device_attribute(cudaDevAttrComputeCapabilityMajor, 0) == 9; }

inline int multiprocessors() { return device_attribute(cudaDevAttrMultiProcessorCount, 132); }

// The most shared memory of a CTA on the present device, in bytes.
inline size_t shared_memory_limit() {
  return static_cast<size_t>(device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 * 1024));
}

// Allows a kernel all of a CTA's shared memory on the present device, and asks for a
// multiprocessor's largest share of it: kernels that want different shares do not run beside each
// other. Both are the same for every launch, so each thread says them once, in any order.
inline void allow_shared_memory(const char* name, const void* kernel) {
  thread_local std::set<std::pair<int, const void*>> allowed;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  if (allowed.contains({device, kernel})) return;
  const auto set = [&](cudaFuncAttribute attribute, int value) {
    check(cudaFuncSetAttribute(kernel, attribute, value),
          std::string("cudaFuncSetAttribute(") + name + ", " + std::to_string(value) + ")");
  };
  set(cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_memory_limit()));
  set(cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  allowed.insert({device, kernel});
}

// kernel<<<grid, threads, shared_bytes, stream>>>(arguments...); `name` is for the error's text.
template <class... Parameters, class... Arguments>
void launch_from(Start start, const char* name, void (*kernel)(Parameters...), dim3 grid,
                 int threads, size_t shared_bytes, Stream stream, const Arguments&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  if (shared_bytes > 48 * 1024) allow_shared_memory(name, reinterpret_cast<const void*>(kernel));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = start == Start::kBeside ? 1 : 0;
  const cudaError_t code = cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
  if (code == cudaSuccess) return;
  cudaGetLastError();  // not the next call's fault
  check(code, std::string("launch of ") + name + " with " + std::to_string(shared_bytes) +
                  " bytes of shared memory");
}

inline void fill_zero(void* target, size_t bytes, Stream stream) {
  check(cudaMemsetAsync(target, 0, bytes, stream), "cudaMemsetAsync");
}

#endif

template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, int threads,
            size_t shared_bytes, Stream stream, const Arguments&... arguments) {
  launch_from(Start::kBehind, name, kernel, grid, threads, shared_bytes, stream, arguments...);
}

}  // namespace gdr2::cuda
