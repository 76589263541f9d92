// SPDX-License-Identifier: Apache-2.0
#include "reference/error_profile.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "reference/error_stats.hpp"

namespace gdr2 {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// The profile of a tensor whose reference is 1, sigma 1/4, and error as `error` says.
template <class Function>
ErrorStats stats_of(const Problem& problem, Name name, const Function& error) {
  const auto count = element_count(shape_of(problem, name));
  std::vector<double> value(count), reference(count, 1), sigma(count, 0.25);
  for (std::int64_t i = 0; i < count; ++i) value[i] = 1 + error(i);
  return measure(problem, name, DType::kF32, value, reference, sigma);
}

TEST(ErrorProfile, CountsElementsByZ) {
  const auto p = parse_problem("T=2 K=1 V=4");
  const double errors[] = {0, 0, 0.0625, 0.25, -0.25, 100, HUGE_VAL, NAN};  // z = 4 error
  const auto profile = stats_of(p, Name::o, [&](auto i) { return errors[i]; }).profile;
  ASSERT_THAT(profile.histogram, SizeIs(kZBins));
  EXPECT_EQ(profile.histogram[0], 2);
  EXPECT_EQ(profile.histogram[1], 1);  // z = 1/4
  EXPECT_EQ(profile.histogram[4], 2);  // z = 1
  EXPECT_EQ(profile.histogram[kZBins - 1], 3);
}

TEST(ErrorProfile, LeavesOutZerosAtTheEndOfTheHistogram) {
  const auto p = parse_problem("T=2 K=1 V=4");
  EXPECT_THAT(stats_of(p, Name::o, [](auto) { return 0.0; }).profile.histogram, ElementsAre(8));
}

TEST(ErrorProfile, SaysHowTheErrorGrowsInBlocksOfDoublingLength) {
  const auto p = parse_problem("T=9 K=1 V=2");  // blocks 0, 1, 2-3, 4-7, 8
  const auto profile = stats_of(p, Name::o, [](auto i) { return double(i / 2) / 8; }).profile;
  EXPECT_THAT(profile.growth_z, ElementsAre(0, 0.5, 1.27, 2.81, 4));
  EXPECT_THAT(profile.growth_rel, ElementsAre(0, 0.125, 0.319, 0.702, 1));
}

TEST(ErrorProfile, CountsTokensFromTheStartOfTheirSequence) {
  const auto p = parse_problem("lens=3,0,2 K=1 V=1");
  const auto profile = stats_of(p, Name::o, [](auto i) { return i == 3 ? 1.0 : 0.0; }).profile;
  EXPECT_THAT(profile.growth_z, ElementsAre(2.83, 0, 0));  // token 0 of the second: sqrt(16 / 2)
}

TEST(ErrorProfile, ShowsWhereAnElementSits) {
  const auto p = parse_problem("T=100 H=2 K=1 V=3");
  const auto at = (70 * 2 + 1) * 3 + 2;  // token 70, head 1, channel 2: row 6 of its chunk
  const auto profile = stats_of(p, Name::o, [&](auto i) { return i == at ? 1.0 : 0.0; }).profile;
  ASSERT_THAT(profile.maps, SizeIs(2));
  const auto& where = profile.maps[0];
  EXPECT_EQ(where.rows, "token");
  EXPECT_EQ(where.columns, "head");
  EXPECT_EQ(where.height, kMapCells);
  EXPECT_EQ(where.width, 2);
  for (std::int64_t i = 0; i < where.height * where.width; ++i)
    EXPECT_EQ(where.max_z[i], i == 70 * kMapCells / 100 * 2 + 1 ? 4 : 0) << i;
  const auto& inside = profile.maps[1];
  EXPECT_EQ(inside.row_count, kChunk);
  EXPECT_EQ(inside.width, 3);
  for (std::int64_t i = 0; i < inside.height * inside.width; ++i)
    EXPECT_EQ(inside.max_z[i], i == 6 / 2 * 3 + 2 ? 4 : 0) << i;
}

TEST(ErrorProfile, NamesTheAxesOfAState) {
  const auto p = parse_problem("T=1 K=2 V=3 layout=vk h0=1");
  const auto profile = stats_of(p, Name::ht, [](auto) { return 0.0; }).profile;
  ASSERT_THAT(profile.maps, SizeIs(2));
  EXPECT_EQ(profile.maps[1].rows, "value channel");
  EXPECT_EQ(profile.maps[1].row_count, 3);
  EXPECT_EQ(profile.maps[1].columns, "key channel");
  EXPECT_TRUE(profile.growth_z.empty());
}

TEST(ErrorProfile, MarksACellWithAnElementThatIsNotFinite) {
  const auto p = parse_problem("T=4 K=1 V=1");
  const auto profile = stats_of(p, Name::o, [](auto i) { return i == 2 ? NAN : 0.0; }).profile;
  EXPECT_THAT(profile.maps[0].max_z, ElementsAre(0, 0, HUGE_VAL, 0));
}

TEST(ErrorProfile, AveragesZSquaredOverPartsOfTheTensor) {
  const auto p = parse_problem("T=32 K=1 V=1");
  const auto profile = stats_of(p, Name::o, [](auto i) { return i % 2 ? 0.5 : 0.25; }).profile;
  ASSERT_THAT(profile.batches, SizeIs(kBatches));
  for (const double batch : profile.batches) EXPECT_EQ(batch, (1 + 4) / 2.0);
}

TEST(ErrorProfile, OfATensorWithoutElementsIsEmpty) {
  const auto p = parse_problem("lens=0 K=2 V=2");
  EXPECT_EQ(stats_of(p, Name::o, [](auto) { return 0.0; }).profile, ErrorProfile{});
}

TEST(ErrorStats, ShowsTheWorstElementBetweenItsNeighbours) {
  const auto p = parse_problem("T=3 K=1 V=8");
  const auto window = stats_of(p, Name::o, [](auto i) { return i == 9 ? 1.0 : i / 1024.0; }).window;
  EXPECT_EQ(window.first, 8);  // its row begins there
  EXPECT_THAT(window.value, SizeIs(7));
  EXPECT_EQ(window.value[1], 2);
  EXPECT_THAT(window.sigma, testing::Each(0.25));
}

TEST(ErrorStats, CountsUlpsNearZeroAtTheScaleOfTheRow) {
  const auto p = parse_problem("T=2 K=1 V=2");
  const std::vector<double> reference{1, 0x1p-30, 1, 1}, sigma(4, 1);
  auto value = reference;
  value[1] += 0x1p-23;  // one ulp of fp32 in [1, 2), two below
  EXPECT_EQ(measure(p, Name::o, DType::kF32, value, reference, sigma).max_ulp, 2);
}

TEST(ErrorStats, CountsUlpsOfAVanishingRowAtTheScaleOfTheTensor) {
  const auto p = parse_problem("T=2 K=1 V=1");
  const std::vector<double> reference{1, 1e-40}, sigma(2, 1);
  const auto stats = measure(p, Name::o, DType::kF32, std::vector<double>{1, 0}, reference, sigma);
  EXPECT_LT(stats.max_ulp, 1e-6);
}

}  // namespace
}  // namespace gdr2
