// SPDX-License-Identifier: Apache-2.0
#include "kernels/abi/stopwatch.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "kernels/abi/memory_space.hpp"
#include "reference/error.hpp"

#ifdef GDR2_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace gdr2 {
namespace {

constexpr int kCopies = 10;
constexpr std::size_t kHostCopy = 256u << 20, kDeviceCopy = 1u << 30;

std::vector<double> time_host(int repetitions, const std::function<void()>& call) {
  std::vector<double> ms;
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    ms.push_back(took.count());
  }
  return ms;
}

double copy_rate(std::size_t bytes, const std::vector<double>& ms) {
  return 2 * double(bytes) / *std::ranges::min_element(ms) / 1e6;
}

#ifdef GDR2_HAVE_CUDA

constexpr std::size_t kFlush = 256u << 20;  // more than any L2 cache

void must(cudaError_t status, const char* call) {
  if (status != cudaSuccess) fail("{}: {}", call, cudaGetErrorString(status));
}

struct Event {
  cudaEvent_t handle;
  Event() { must(cudaEventCreate(&handle), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(handle); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

/// Nothing waits between the calls, so the host is ahead of the device and its own time does not show.
std::vector<double> time_device(int repetitions, std::size_t flush_bytes,
                                const std::function<void()>& call) {
  const SpaceBuffer flush(memory_space(GDR2_CUDA), flush_bytes);
  std::vector<Event> begin(repetitions), end(repetitions);
  for (int i = 0; i < repetitions; ++i) {
    if (flush_bytes) must(cudaMemsetAsync(flush.get(), i, flush_bytes), "cudaMemsetAsync");
    must(cudaEventRecord(begin[i].handle), "cudaEventRecord");
    call();
    must(cudaEventRecord(end[i].handle), "cudaEventRecord");
  }
  must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::vector<double> ms;
  for (int i = 0; i < repetitions; ++i) {
    float took = 0;
    must(cudaEventElapsedTime(&took, begin[i].handle, end[i].handle), "cudaEventElapsedTime");
    ms.push_back(took);
  }
  return ms;
}

double device_copy() {
  const auto& space = memory_space(GDR2_CUDA);
  const SpaceBuffer from(space, kDeviceCopy), to(space, kDeviceCopy);
  const auto copy = [&] {
    must(cudaMemcpyAsync(to.get(), from.get(), kDeviceCopy, cudaMemcpyDeviceToDevice), "cudaMemcpy");
  };
  return copy_rate(kDeviceCopy, time_device(kCopies, 0, copy));
}

#endif

}  // namespace

std::vector<double> time_calls(gdr2_memory memory, int repetitions, const std::function<void()>& call) {
#ifdef GDR2_HAVE_CUDA
  if (memory == GDR2_CUDA) return time_device(repetitions, kFlush, call);
#endif
  (void)memory;
  return time_host(repetitions, call);
}

double measured_copy_gb_per_s(gdr2_memory memory) {
#ifdef GDR2_HAVE_CUDA
  if (memory == GDR2_CUDA) {
    static const double device = device_copy();
    return device;
  }
#endif
  if (memory != GDR2_HOST) return 0;
  static const double host = [] {
    const std::vector<char> from(kHostCopy, 1);
    std::vector<char> to(kHostCopy);
    return copy_rate(kHostCopy, time_host(kCopies / 2, [&] { std::memcpy(to.data(), from.data(), kHostCopy); }));
  }();
  return host;
}

std::string device_name(gdr2_memory memory) {
#ifdef GDR2_HAVE_CUDA
  cudaDeviceProp properties{};
  if (memory == GDR2_CUDA && cudaGetDeviceProperties(&properties, 0) == cudaSuccess)
    return properties.name;
#endif
  return memory == GDR2_HOST ? "host" : "device";
}

}  // namespace gdr2
