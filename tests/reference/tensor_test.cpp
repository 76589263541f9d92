// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

constexpr DType kDTypes[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kF16};

/// 0, 1, 2, ... in row-major order.
Tensor counting(DType dtype, Shape shape) {
  Tensor tensor(dtype, std::move(shape));
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, double(i));
  return tensor;
}

Tensor view(const Tensor& of, Shape shape, Shape strides, std::int64_t offset) {
  return Tensor(of.dtype(), std::move(shape), std::move(strides), of.storage(), offset);
}

void expect_rejected(const Tensor& of, Shape shape, Shape strides, std::int64_t offset,
                     const std::string& words) {
  try {
    view(of, std::move(shape), std::move(strides), offset);
    FAIL() << "accepted; expected: " << words;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(Tensor, StartsDenseAndZero) {
  for (auto dtype : kDTypes) {
    const Tensor tensor(dtype, {2, 3, 4});
    EXPECT_EQ(tensor.strides(), (Shape{12, 4, 1}));
    EXPECT_TRUE(tensor.is_dense());
    EXPECT_EQ(tensor.storage()->size(), 24 * size_of(dtype));
    EXPECT_EQ(tensor.to_doubles(), std::vector<double>(24, 0.0));
  }
}

TEST(Tensor, WithoutDimensionsHoldsOneElement) {
  auto scalar = counting(DType::kF32, {});
  scalar.set(0, 2.5);
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ(scalar.get(0), 2.5);
}

TEST(Tensor, WithAnExtentOfZeroIsEmptyAndClones) {
  const Tensor tensor(DType::kBF16, {3, 0, 2});
  EXPECT_TRUE(tensor.empty());
  EXPECT_TRUE(tensor.to_doubles().empty());
  EXPECT_EQ(tensor.clone().shape(), tensor.shape());
  EXPECT_TRUE(Tensor().empty());
}

TEST(Tensor, RoundsToItsDTypeWhenWritten) {
  const double x = 1 + 0x1p-9 + 0x1p-30;
  const double expected[] = {x, 1 + 0x1p-9, 1, 1 + 0x1p-9};
  for (std::size_t i = 0; i < 4; ++i) {
    Tensor tensor(kDTypes[i], {1});
    tensor.set(0, x);
    EXPECT_EQ(tensor.get(0), expected[i]) << to_string(kDTypes[i]);
  }
}

TEST(Tensor, KeepsNanInfinityAndTheSignOfZero) {
  for (auto dtype : kDTypes) {
    Tensor tensor(dtype, {3});
    tensor.assign(std::vector<double>{std::nan(""), -HUGE_VAL, -0.0});
    EXPECT_TRUE(std::isnan(tensor.get(0)));
    EXPECT_EQ(tensor.get(1), -HUGE_VAL);
    EXPECT_TRUE(std::signbit(tensor.get(2)));
  }
}

TEST(Tensor, ReadsByRowMajorIndexWhateverTheStrides) {
  const auto base = counting(DType::kF16, {2, 3});
  const auto transposed = view(base, {3, 2}, {1, 3}, 0);
  EXPECT_FALSE(transposed.is_dense());
  EXPECT_EQ(transposed.to_doubles(), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(transposed.get(3), 4);
}

TEST(TensorView, WithANegativeStrideReadsBackwards) {
  const auto base = counting(DType::kF32, {4});
  EXPECT_EQ(view(base, {4}, {-1}, 3).to_doubles(), (std::vector<double>{3, 2, 1, 0}));
  EXPECT_EQ(view(base, {2, 2}, {-2, 1}, 2).to_doubles(), (std::vector<double>{2, 3, 0, 1}));
}

TEST(TensorView, WithAStrideOfZeroRepeats) {
  const auto base = counting(DType::kF32, {2});
  EXPECT_EQ(view(base, {2, 3}, {1, 0}, 0).to_doubles(), (std::vector<double>{0, 0, 0, 1, 1, 1}));
}

TEST(TensorView, StartsAtItsOffset) {
  const auto base = counting(DType::kF64, {3, 4});
  const auto column = view(base, {3}, {4}, 2);
  EXPECT_EQ(column.to_doubles(), (std::vector<double>{2, 6, 10}));
  EXPECT_EQ(column.data(), base.data() + 2 * sizeof(double));
}

TEST(TensorView, WritesIntoTheSharedStorageAndNowhereElse) {
  const auto base = counting(DType::kBF16, {2, 3});
  auto column = view(base, {2}, {3}, 1);
  column.assign(std::vector<double>{-1, -2});
  EXPECT_EQ(base.to_doubles(), (std::vector<double>{0, -1, 2, 3, -2, 5}));
}

TEST(TensorView, OutsideItsStorageIsRejectedNamingTheElements) {
  const Tensor base(DType::kF32, {6});
  expect_rejected(base, {7}, {1}, 0, "elements 0 to 6 of a storage of 6");
  expect_rejected(base, {6}, {1}, 1, "elements 1 to 6 of a storage of 6");
  expect_rejected(base, {2}, {6}, 0, "elements 0 to 6 of a storage of 6");
  expect_rejected(base, {2, 2}, {4, 2}, 0, "elements 0 to 6 of a storage of 6");
  expect_rejected(base, {3}, {-1}, 1, "elements -1 to 1 of a storage of 6");
  expect_rejected(base, {1}, {1}, -1, "elements -1 to -1 of a storage of 6");
  expect_rejected(base, {2, 2}, {-3, 4}, 2, "elements -1 to 6 of a storage of 6");
}

TEST(TensorView, CountsItsStorageInElementsOfItsOwnDType) {
  const Tensor base(DType::kF64, {2});
  EXPECT_NO_THROW(Tensor(DType::kBF16, {8}, {1}, base.storage(), 0));
  EXPECT_THROW(Tensor(DType::kBF16, {9}, {1}, base.storage(), 0), Error);
}

TEST(TensorView, NeedsAStrideForEachDimension) {
  expect_rejected(Tensor(DType::kF32, {6}), {2, 3}, {1}, 0, "1 strides for 2 dimensions");
}

TEST(TensorView, WithoutElementsTouchesNoStorage) {
  const Tensor base(DType::kF32, {0});
  EXPECT_NO_THROW(view(base, {0, 5}, {5, 1}, 0));
}

TEST(Tensor, CopiesShareTheirStorageAndClonesDoNot) {
  const auto base = counting(DType::kF32, {3});
  auto copy = base;
  auto clone = base.clone();
  copy.set(0, 10);
  clone.set(1, 20);
  EXPECT_EQ(base.to_doubles(), (std::vector<double>{10, 1, 2}));
  EXPECT_EQ(clone.to_doubles(), (std::vector<double>{0, 20, 2}));
}

TEST(Tensor, CloneOfAViewIsDenseAndEqualBitForBit) {
  for (auto dtype : kDTypes) {
    auto base = counting(dtype, {4, 6});
    base.set(8, std::nan(""));
    base.set(10, -0.0);
    const auto strided = view(base, {2, 3}, {-6, 2}, 6);
    const auto clone = strided.clone();
    EXPECT_TRUE(clone.is_dense());
    EXPECT_EQ(clone.offset(), 0);
    EXPECT_EQ(clone.storage()->size(), 6 * size_of(dtype));
    for (std::int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(std::memcmp(clone.data() + i * std::int64_t(size_of(dtype)),
                            strided.data() + strided.position(i) * std::int64_t(size_of(dtype)),
                            size_of(dtype)),
                0);
  }
}

TEST(Tensor, CloneOfADenseViewTakesItsElementsOnly) {
  const auto base = counting(DType::kF32, {4, 2});
  const auto rows = view(base, {2, 2}, {2, 1}, 4);
  EXPECT_TRUE(rows.is_dense());
  EXPECT_EQ(rows.clone().to_doubles(), (std::vector<double>{4, 5, 6, 7}));
  EXPECT_EQ(rows.clone().storage()->size(), 4 * sizeof(float));
}

TEST(Tensor, AssignsExactlyAsManyValuesAsElements) {
  auto tensor = counting(DType::kF32, {2, 2});
  EXPECT_THROW(tensor.assign(std::vector<double>(3)), Error);
  EXPECT_THROW(tensor.assign(std::vector<double>(5)), Error);
  EXPECT_EQ(tensor.to_doubles(), (std::vector<double>{0, 1, 2, 3}));
}

TEST(Tensor, FillingItsStorageReachesThePaddingOfAView) {
  const auto base = counting(DType::kF32, {2, 3});
  auto column = view(base, {2}, {3}, 0);
  column.fill_storage(std::byte{0xFF});
  for (double x : base.to_doubles()) EXPECT_TRUE(std::isnan(x));
}

}  // namespace
}  // namespace gdr2
