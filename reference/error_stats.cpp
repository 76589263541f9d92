// SPDX-License-Identifier: Apache-2.0
#include "reference/error_stats.hpp"

#include <algorithm>
#include <cmath>

#include "reference/error.hpp"
#include "reference/rounding.hpp"

namespace gdr2 {
namespace {

constexpr std::size_t kWorst = 3;
constexpr double kLeastRow = 0x1p-10;  ///< of the tensor's rms: a row below is near zero as a whole

std::vector<const char*> axes_of(const Problem& p, Name name) {
  switch (shape_of(p, name).size()) {
    case 1: return {"h"};
    case 2: return {"h", "c"};
    default: break;
  }
  if (name == Name::H || name == Name::dH) return {"chunk", "h", "k", "v"};
  if (is_stage(name)) return {"chunk", "h", "row", "column"};
  if (!is_state(name)) return {"b", "t", "h", "c"};
  if (p.layout == StateLayout::kVK) return {"n", "h", "v", "k"};
  return {"n", "h", "k", "v"};
}

/// Keeps the kWorst elements with the largest key, earlier index first among equals.
class WorstList {
 public:
  void offer(double key, std::int64_t index) {
    if (keys_.size() == kWorst && !(key > keys_.back().first)) return;
    const auto at = std::find_if(keys_.begin(), keys_.end(),
                                 [&](const auto& entry) { return key > entry.first; });
    keys_.insert(at, {key, index});
    if (keys_.size() > kWorst) keys_.pop_back();
  }
  const auto& entries() const { return keys_; }

 private:
  std::vector<std::pair<double, std::int64_t>> keys_;
};

double quantile(std::vector<double>& sorted, double p) {
  return sorted.empty() ? 0 : sorted[std::size_t(p * double(sorted.size() - 1))];
}

void fill_z(ErrorStats& stats, std::vector<double>& z) {
  if (z.empty()) return;
  double sum = 0;
  for (double x : z) sum += x * x;
  std::sort(z.begin(), z.end());
  stats.rms_z = std::sqrt(sum / double(z.size()));
  stats.max_z = z.back();
  stats.z50 = quantile(z, 0.5);
  stats.z90 = quantile(z, 0.9);
  stats.z99 = quantile(z, 0.99);
  stats.z999 = quantile(z, 0.999);
}

double rms_of_finite(std::span<const double> row) {
  double sum = 0;
  for (const double x : row)
    if (std::isfinite(x)) sum += x * x;
  return row.empty() ? 0 : std::sqrt(sum / double(row.size()));
}

Window window_around(std::int64_t index, std::int64_t row, std::span<const double> value,
                     std::span<const double> reference, std::span<const double> sigma) {
  const auto begin = std::max(index - kNeighbours, index / row * row);
  const auto end = std::min(index + kNeighbours + 1, (index / row + 1) * row);
  const auto cut = [&](std::span<const double> x) {
    return std::vector(x.begin() + begin, x.begin() + end);
  };
  return {begin, cut(value), cut(reference), cut(sigma)};
}

}  // namespace

std::string element_name(const Problem& problem, Name name, std::int64_t index) {
  const auto shape = shape_of(problem, name);
  const auto axes = axes_of(problem, name);
  const auto strides = dense_strides(shape);
  std::string text;
  for (std::size_t i = 0; i < shape.size(); ++i)
    text += fmt::format("{}{}={}", i ? " " : "", axes[i], index / strides[i] % shape[i]);
  return text;
}

ErrorStats measure(const Problem& problem, Name name, DType dtype, std::span<const double> value,
                   std::span<const double> reference, std::span<const double> sigma) {
  ErrorStats stats{.name = name, .dtype = dtype, .shape = shape_of(problem, name)};
  stats.count = std::int64_t(reference.size());
  if (value.size() != reference.size() || (!sigma.empty() && sigma.size() != reference.size()))
    fail("{}: {} values for {} reference elements", to_string(name), value.size(), reference.size());
  const Format format = format_of(dtype);
  const std::int64_t row = stats.shape.back();
  double error_sum = 0, reference_sum = 0, row_ulp = 0;
  std::vector<double> z;
  z.reserve(sigma.size());
  WorstList worst;
  Profiler profiler(problem, name);
  const double least_rms = kLeastRow * rms_of_finite(reference);
  const auto not_finite = [&](std::int64_t i, std::int64_t& counter) {
    ++counter;
    worst.offer(HUGE_VAL, i);
    if (!sigma.empty()) profiler.add(i, 0, 0, HUGE_VAL);
  };
  for (std::int64_t i = 0; i < stats.count; ++i) {
    if (i % row == 0)
      row_ulp = ulp(std::max(rms_of_finite(reference.subspan(i, row)), least_rms), format);
    const double x = value[i], y = reference[i];
    const double rounded = round_nearest(y, format);
    if (!std::isfinite(rounded)) {
      const bool same = std::isnan(rounded) ? std::isnan(x) : x == rounded;
      if (!same) not_finite(i, stats.missing);
      continue;
    }
    if (!std::isfinite(x)) {
      not_finite(i, std::isnan(x) ? stats.nan : stats.inf);
      continue;
    }
    const double error = std::fabs(x - y);
    error_sum += error * error;
    reference_sum += y * y;
    stats.max_abs = std::max(stats.max_abs, error);
    stats.max_ulp = std::max(stats.max_ulp, error / std::max(ulp(y, format), row_ulp));
    if (sigma.empty()) {
      worst.offer(error, i);
    } else {
      z.push_back(error == 0 ? 0 : error / sigma[i]);
      worst.offer(z.back(), i);
      profiler.add(i, error, y, z.back());
    }
  }
  stats.reference_rms = stats.count ? std::sqrt(reference_sum / double(stats.count)) : 0;
  stats.rel_norm = error_sum == 0 ? 0 : std::sqrt(error_sum / reference_sum);
  fill_z(stats, z);
  for (const auto& [key, i] : worst.entries())
    stats.worst.push_back({i, element_name(problem, name, i), value[i], reference[i],
                           sigma.empty() ? 0 : sigma[i], sigma.empty() ? 0 : key});
  if (sigma.empty() || stats.worst.empty()) return stats;
  stats.window = window_around(stats.worst.front().index, row, value, reference, sigma);
  stats.profile = profiler.finish();
  return stats;
}

}  // namespace gdr2
