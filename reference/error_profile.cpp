// SPDX-License-Identifier: Apache-2.0
#include "reference/error_profile.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

namespace gdr2 {
namespace {

std::vector<std::int64_t> positions(const Problem& problem) {
  std::vector<std::int64_t> positions(problem.B * problem.T);
  for (const auto& sequence : problem.sequences())
    for (auto t = sequence.begin; t < sequence.end; ++t) positions[t] = t - sequence.begin;
  return positions;
}

/// 0, 1, 2-3, 4-7 ... are blocks 0, 1, 2, 3 ...
std::size_t block_of(std::int64_t position) { return std::size_t(std::bit_width(std::uint64_t(position))); }

double rounded(double x, int digits) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::general, digits).ptr;
  std::from_chars(text, end, x);
  return x;
}

double root_ratio(double numerator, double denominator) {
  return numerator == 0 ? 0 : rounded(std::sqrt(numerator / denominator), 3);
}

}  // namespace

Profiler::Plane Profiler::plane(const char* rows, std::int64_t row_count, const char* columns,
                                std::int64_t column_count) {
  const auto height = std::min(row_count, kMapCells);
  const auto width = std::min(column_count, kMapColumnCells);
  return {.map = {.rows = rows,
                  .columns = columns,
                  .row_count = row_count,
                  .column_count = column_count,
                  .height = height,
                  .width = width},
          .cells = std::vector<Cell>(std::size_t(height * width))};
}

void Profiler::Plane::add(std::int64_t row, std::int64_t column, double z) {
  const auto i = row * map.height / map.row_count, j = column * map.width / map.column_count;
  auto& cell = cells[std::size_t(i * map.width + j)];
  cell.sum += z * z;
  cell.max = std::max(cell.max, z);
  ++cell.count;
}

Profiler::Profiler(const Problem& problem, Name name) : histogram_(kZBins) {
  const auto shape = shape_of(problem, name);
  count_ = element_count(shape);
  if (count_ == 0) return;
  batches_.resize(std::size_t(std::min(count_, kBatches)));
  if (is_stage(name)) {
    const bool of_state = name == Name::H || name == Name::dH;
    heads_ = shape[1], inner_rows_ = shape[2], channels_ = shape[3];
    planes_ = {plane("chunk", shape[0], "head", heads_),
               plane(of_state ? "key channel" : "chunk row", inner_rows_,
                     of_state ? "value channel" : "column", channels_)};
  } else if (is_state(name)) {
    heads_ = shape[1], inner_rows_ = shape[2], channels_ = shape[3];
    const bool kv = problem.layout == StateLayout::kKV;
    planes_ = {plane("sequence", shape[0], "head", heads_),
               plane(kv ? "key channel" : "value channel", inner_rows_,
                     kv ? "value channel" : "key channel", channels_)};
  } else if (shape.size() == 4) {
    has_tokens_ = true;
    heads_ = shape[2], channels_ = shape[3];
    position_ = positions(problem);
    const auto longest = *std::max_element(position_.begin(), position_.end()) + 1;
    growth_.resize(block_of(longest - 1) + 1);
    planes_ = {plane("token", shape[0] * shape[1], "head", heads_),
               plane("chunk row", std::min(longest, kChunk), "channel", channels_)};
  }
}

void Profiler::add_token(std::int64_t index, double error, double reference, double z) {
  const auto token = index / (heads_ * channels_), head = index / channels_ % heads_;
  const auto position = position_[std::size_t(token)];
  planes_[0].add(token, head, z);
  planes_[1].add(position % kChunk, index % channels_, z);
  auto& block = growth_[block_of(position)];
  block.z += z * z;
  block.error += error * error;
  block.reference += reference * reference;
  ++block.count;
}

void Profiler::add(std::int64_t index, double error, double reference, double z) {
  const double bin = z * kBinsPerZ;
  auto& batch = batches_[std::size_t(index * std::ssize(batches_) / count_)];
  batch.sum += z * z;
  ++batch.count;
  ++histogram_[bin < kZBins - 1 ? std::size_t(bin) : kZBins - 1];
  if (has_tokens_) {
    add_token(index, error, reference, z);
  } else if (!planes_.empty()) {
    const auto row = index / channels_;
    planes_[0].add(row / inner_rows_ / heads_, row / inner_rows_ % heads_, z);
    planes_[1].add(row % inner_rows_, index % channels_, z);
  }
}

ErrorProfile Profiler::finish() const {
  ErrorProfile profile{.histogram = histogram_};
  while (!profile.histogram.empty() && profile.histogram.back() == 0) profile.histogram.pop_back();
  for (const auto& block : growth_) {
    profile.growth_z.push_back(root_ratio(block.z, double(block.count)));
    profile.growth_rel.push_back(root_ratio(block.error, block.reference));
  }
  for (const auto& batch : batches_)
    profile.batches.push_back(batch.sum == 0 ? 0 : rounded(batch.sum / double(batch.count), 6));
  for (const auto& plane : planes_) {
    auto& map = profile.maps.emplace_back(plane.map);
    for (const auto& cell : plane.cells) {
      map.rms_z.push_back(root_ratio(cell.sum, double(cell.count)));
      map.max_z.push_back(rounded(cell.max, 3));
    }
  }
  return profile;
}

}  // namespace gdr2
