// SPDX-License-Identifier: Apache-2.0
// Arrays in host memory: views, copies, what is written from one another and what differs.
#include "kernels/resident/array.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

const MemorySpace& host_memory() { return memory_space(GDR2_HOST); }

/// Elements 0, 1, 2, ..
Array counted(const Shape& shape, DType dtype = DType::kF32) {
  Tensor tensor(dtype, shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) tensor.set(i, double(i));
  return placed(host_memory(), {{Name::q, tensor}}).at(Name::q);
}

std::vector<double> values(const Array& array) { return array.as_tensor().to_doubles(); }

TEST(Array, IsNaNUntilItIsWritten) {
  for (const auto dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16})
    for (const double x : values(Array(host_memory(), dtype, {2, 3}))) EXPECT_TRUE(std::isnan(x));
}

TEST(Array, IsTheMemoryOfItsTensorOnTheHost) {
  const Tensor tensor(DType::kF32, {4});
  const auto array = placed(host_memory(), {{Name::q, tensor}}).at(Name::q);
  EXPECT_EQ(array.data(), tensor.data());
  fill(array, 3);
  EXPECT_EQ(tensor.get(2), 3);
}

TEST(Array, APartIsAViewOfEveryStepThEntry) {
  const auto array = counted({2, 5, 3});
  const auto part = array.part(1, 1, 2, 2).part(2, 2, 1);
  EXPECT_THAT(values(part), testing::ElementsAre(5, 11, 20, 26));
  fill(part, -1);
  EXPECT_EQ(array.get(11), -1);
  EXPECT_EQ(part.position(3), 26);
}

TEST(Array, APartOutsideIsRefused) {
  const auto array = counted({2, 5});
  EXPECT_THROW(array.part(1, 3, 3), Error);
  EXPECT_THROW(array.part(1, 0, 3, 3), Error);
  EXPECT_THROW(array.part(1, -1, 1), Error);
  EXPECT_EQ(array.part(1, 5, 0).size(), 0);
}

TEST(Array, SwappedAxesAreATransposedView) {
  EXPECT_THAT(values(counted({2, 3}).with_axes_swapped(0, 1)),
              testing::ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(values(copy(counted({2, 3}).with_axes_swapped(0, 1))),
              testing::ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Array, AnAxisIsSplitInTwo) {
  const auto part = counted({2, 8}).part(1, 2, 6);
  EXPECT_THAT(values(part.with_axis_split(1, 2).part(1, 1, 1)), testing::ElementsAre(4, 5, 12, 13));
  EXPECT_EQ(part.with_axis_split(1, 2).shape(), (Shape{2, 3, 2}));
  EXPECT_THROW(part.with_axis_split(1, 4), Error);
}

TEST(Array, IsWrittenFromAnotherByAFactorAndAShift) {
  const Array to(host_memory(), DType::kBF16, {2, 2});
  assign(to, counted({2, 2}, DType::kF16), 2, 0.5);
  EXPECT_THAT(values(to), testing::ElementsAre(0.5, 2.5, 4.5, 6.5));
}

TEST(Array, AFillDoesNotReadWhatWasThere) {
  const Array array(host_memory(), DType::kF32, {3});
  fill(array, 0);
  EXPECT_THAT(values(array), testing::Each(0));
}

TEST(Array, OfAnotherShapeIsRefused) {
  EXPECT_THROW(assign(counted({4}), counted({2, 2})), Error);
  EXPECT_THROW(compare(counted({4}), counted({3})), Error);
}

TEST(Array, DuplicatesShareAmongThemselvesWhatTheOriginalsShare) {
  const Tensor buffer(DType::kF32, {8});
  const Tensor front(DType::kF32, {4}, {1}, buffer.storage(), 0),
      back(DType::kF32, {4}, {1}, buffer.storage(), 4);
  const auto arrays = placed(host_memory(), {{Name::q, front}, {Name::k, back}});
  const auto copies = duplicated(arrays);
  fill(copies.at(Name::q), 7);
  EXPECT_EQ(buffer.get(0), 0);
  EXPECT_EQ(copies.at(Name::k).data() - copies.at(Name::q).data(), 16);
}

TEST(Compare, FindsNothingBetweenEqualValues) {
  const auto a = counted({3, 4}), b = copy(a);
  fill(a.part(0, 1, 1), NAN), fill(b.part(0, 1, 1), NAN);
  fill(a.part(0, 2, 1), 0.0), fill(b.part(0, 2, 1), -0.0);
  EXPECT_FALSE(compare(a, b));
  EXPECT_FALSE(compare(a.part(0, 0, 0), b.part(0, 0, 0)));
}

TEST(Compare, CountsWhatDiffersAndNamesTheFirst) {
  const auto a = counted({3, 4}), b = copy(a);
  fill(a.part(1, 2, 1), 0.5);
  const auto found = compare(a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 3);
  EXPECT_EQ(found->first, 2);
  EXPECT_EQ(found->got, 0.5);
  EXPECT_EQ(found->want, 2);
}

TEST(Compare, SeesNaNBesideANumber) {
  const auto a = counted({5}), b = copy(a);
  fill(b.part(0, 4, 1), NAN);
  EXPECT_EQ(compare(a, b)->first, 4);
  EXPECT_EQ(compare(b, a)->first, 4);
}

/// Every element of views that cannot be joined into one axis, and of runs of several threads.
TEST(Compare, FindsOneElementWhereverItLies) {
  const auto whole = counted({2, 3, 4, 5});
  const auto a = whole.with_axes_swapped(1, 3), b = copy(a);
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const auto before = b.get(i);
    const auto at =
        b.part(0, i / 60, 1).part(1, i / 12 % 5, 1).part(2, i / 3 % 4, 1).part(3, i % 3, 1);
    fill(at, -1);
    const auto found = compare(a, b);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->count, 1);
    EXPECT_EQ(found->first, i);
    fill(at, before);
  }
  const auto large = Array(host_memory(), DType::kBF16, {1 << 20});
  fill(large, 1);
  const auto other = copy(large);
  for (const std::int64_t i : {0, 4095, 4096, (1 << 19) + 1, (1 << 20) - 1}) {
    fill(other.part(0, i, 1), 2);
    EXPECT_EQ(compare(large, other)->first, i);
    fill(other.part(0, i, 1), 1);
  }
  EXPECT_FALSE(compare(large, other));
}

}  // namespace
}  // namespace gdr2
