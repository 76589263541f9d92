// SPDX-License-Identifier: Apache-2.0
// What is done with elements on a device gives what it gives on the host: every pair of dtypes, dense and strided.
#include "kernels/resident/elementwise.hpp"

#include <cmath>

#include "tests/kernels/cuda/device_buffer.cuh"

namespace gdr2::cuda::test {
namespace {

using Bytes = std::vector<std::byte>;

class ElementwiseTest : public OnDevice {};

constexpr DType kDTypes[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kF16};

/// [7, 5, 66] of an [7, 6, 70] with its axes in the order of `strides`; 2 positions of each are gaps.
ElementPairs strided(DType a, DType b) {
  return {nullptr, nullptr, a, b, 3, {7, 5, 66}, {6 * 70, 70, 1}, {1, 7, 7 * 6}};
}
constexpr size_t kElements = 7 * 6 * 70;

/// Small integers, every 17th NaN.
Bytes elements_of(DType dtype) {
  Bytes bytes(kElements * size_of(dtype));
  std::vector<double> x(1);
  for (size_t i = 0; i < kElements; ++i) {
    x[0] = i % 17 == 16 ? NAN : double(small_integer(int64_t(i), 64));
    const ElementPairs one{bytes.data() + i * size_of(dtype),
                           reinterpret_cast<std::byte*>(x.data()),
                           dtype,
                           DType::kF64,
                           0,
                           {},
                           {},
                           {}};
    host::transform(one, 1, 0);
  }
  return bytes;
}

ElementPairs beside(ElementPairs pairs, std::byte* a, std::byte* b) {
  pairs.a = a, pairs.b = b;
  return pairs;
}

TEST_F(ElementwiseTest, TransformsAsTheHostDoes) {
  for (const auto a : kDTypes)
    for (const auto b : kDTypes)
      for (const auto [factor, shift] :
           {std::pair{1.0, 0.0}, {-0.5, 0.0}, {2.0, 0.25}, {0.0, 3.0}}) {
        auto want = elements_of(a), from = elements_of(b);
        const DeviceBuffer<std::byte> to(want), device_from(from);
        host::transform(beside(strided(a, b), want.data(), from.data()), factor, shift);
        transform(beside(strided(a, b), to.data(), device_from.data()), factor, shift);
        const auto got = to.read();
        const ElementPairs all{
            const_cast<std::byte*>(got.data()), want.data(), a, a, 1, {kElements}, {1}, {1}};
        EXPECT_EQ(host::compare(all).count, 0) << int(a) << " from " << int(b) << " by " << factor;
      }
}

Mismatches compare_there(const ElementPairs& pairs) {
  const DeviceBuffer<Mismatches> found(size_t(compare_blocks(pairs.count())));
  compare(pairs, found.data());
  Mismatches all;
  for (const auto& block : found.read()) all.add(block);
  return all;
}

TEST_F(ElementwiseTest, ComparesAsTheHostDoes) {
  for (const auto a : kDTypes)
    for (const auto b : kDTypes) {
      auto x = elements_of(a), y = elements_of(b);
      const auto want = host::compare(beside(strided(a, b), x.data(), y.data()));
      EXPECT_GT(want.count, 1000);
      const DeviceBuffer<std::byte> device_x(x), device_y(y);
      const auto got = compare_there(beside(strided(a, b), device_x.data(), device_y.data()));
      EXPECT_EQ(got.count, want.count);
      EXPECT_EQ(got.first, want.first);
    }
}

/// Of more than one CTA; the last CTA is not full.
TEST_F(ElementwiseTest, FindsOneElementWhereverItLies) {
  constexpr int64_t kCount = 5000;
  const std::vector<float> x(kCount, 1);
  const DeviceBuffer<float> a(x);
  for (const int64_t i : {int64_t{0}, int64_t{255}, int64_t{256}, int64_t{2048}, kCount - 1}) {
    auto y = x;
    y[size_t(i)] = 2;
    const DeviceBuffer<float> b(y);
    const auto found = compare_there({reinterpret_cast<std::byte*>(a.data()),
                                      reinterpret_cast<std::byte*>(b.data()),
                                      DType::kF32,
                                      DType::kF32,
                                      1,
                                      {kCount},
                                      {1},
                                      {1}});
    EXPECT_EQ(found.count, 1);
    EXPECT_EQ(found.first, i);
  }
}

}  // namespace
}  // namespace gdr2::cuda::test
