// SPDX-License-Identifier: Apache-2.0
// What tests of device code share: memory that kernels can reach, and a fixture that skips
// without a GPU. The same test sources run on a GPU (compiled by nvcc) and under the emulation
// (GDR2_CUDA_ON_HOST).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/cuda/device/convert.cuh"
#include "kernels/cuda/device/launch.cuh"
#include "tests/cuda_on_host/numbers.hpp"

namespace gdr2::cuda::test {

// A copy of a vector where kernels can read and write it.
template <class T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(const std::vector<T>& values) : count_(values.size()) {
#if defined(GDR2_CUDA_ON_HOST)
    data_ = new T[count_];
    std::copy(values.begin(), values.end(), data_);
#else
    check(cudaMalloc(&data_, count_ * sizeof(T)), "cudaMalloc");
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
          "cudaMemcpy");
#endif
  }
  explicit DeviceBuffer(size_t count, T value = T{}) : DeviceBuffer(std::vector<T>(count, value)) {}
  ~DeviceBuffer() {
#if defined(GDR2_CUDA_ON_HOST)
    delete[] data_;
#else
    cudaFree(data_);
#endif
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  T* data() const { return data_; }

  // What is there now; waits for the kernels.
  std::vector<T> read() const {
    std::vector<T> values(count_);
#if defined(GDR2_CUDA_ON_HOST)
    std::copy(data_, data_ + count_, values.begin());
#else
    check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
          "cudaMemcpy");
#endif
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
#if !defined(GDR2_CUDA_ON_HOST)
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
      GTEST_SKIP() << "no CUDA device on this machine";
#endif
  }
};

// A small number that bf16, fp16 and tf32 hold exactly and that differs from index to index.
inline float small_integer(int64_t index, int modulus) {
  return static_cast<float>((index * 2654435761u >> 7) % static_cast<uint64_t>(modulus)) -
         static_cast<float>(modulus / 2);
}

// Values rounded to T, and back.
template <class T>
T number(float x) {
  if constexpr (std::is_same_v<T, Bf16>)
    return {on_host::bf16_from_float(x)};
  else if constexpr (std::is_same_v<T, Fp16>)
    return {on_host::fp16_from_float(x)};
  else
    return x;
}
inline float value(float x) { return x; }
inline float value(Bf16 x) { return on_host::float_from_bf16(x.bits); }
inline float value(Fp16 x) { return on_host::float_from_fp16(x.bits); }

template <class T>
std::vector<T> numbers(const std::vector<float>& values) {
  std::vector<T> result;
  for (const float x : values) result.push_back(number<T>(x));
  return result;
}

inline std::vector<float> small_integers(size_t count, int modulus, int64_t salt) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = small_integer(static_cast<int64_t>(i) + salt * 100003, modulus);
  return values;
}

}  // namespace gdr2::cuda::test
