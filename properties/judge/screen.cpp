// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/screen.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace gdr2 {
namespace {

/// Of one chunk and head of a tensor.
struct Size {
  double error = 0, largest = 0, reference = 0;  // sum of squares, maximum, sum of squares
};

/// rms error and largest error over the rms of the reference.
std::pair<double, double> relative(const Size& size) {
  if (size.error == 0) return {0, 0};
  return {std::sqrt(size.error / size.reference), size.largest / std::sqrt(size.reference)};
}

double median_of(std::vector<double> x) {
  std::erase(x, 0.0);
  if (x.empty()) return 0;
  std::ranges::nth_element(x, x.begin() + std::ssize(x) / 2);
  return x[x.size() / 2];
}

/// Raises each chunk's suspicion to the largest of `x` over the median of all. x: [chunk * heads + head]
void suspect(const std::vector<double>& x, std::int64_t heads, std::vector<double>& suspicion) {
  const double median = median_of(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    auto& s = suspicion[i / heads];
    const double ratio = x[i] == 0 ? 0 : x[i] / median;
    s = std::isfinite(ratio) ? std::max(s, ratio) : HUGE_VAL;
  }
}

std::vector<double> suspicions(const Cut& all) {
  const auto exact = reference<double>(all.problem, to_values<double>(all.inputs));
  std::vector<double> suspicion(all.chunks.size(), 0.0);
  for (const auto& [name, x] : all.results) {
    if (is_stage(name)) continue;
    const auto& y = exact.at(name);
    const Places places(all.problem, name);
    const auto shape = shape_of(all.problem, name);
    const auto heads = name == Name::ht || name == Name::dh0 ? shape[1] : shape[2];
    std::vector<Size> sizes(all.chunks.size() * heads);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if ((name == Name::ht || name == Name::dh0) && std::isnan(x[i])) continue;  // unknown
      const auto place = places[std::int64_t(i)];
      auto& size = sizes[place.sequence * heads + place.head];
      const double error = std::isfinite(x[i]) ? std::fabs(x[i] - y[i]) : HUGE_VAL;
      size.error += error * error, size.largest = std::max(size.largest, error);
      size.reference += y[i] * y[i];
    }
    std::vector<double> rms, largest;
    for (const auto& size : sizes) {
      const auto [mean, most] = relative(size);
      rms.push_back(mean), largest.push_back(most);
    }
    suspect(rms, heads, suspicion);
    suspect(largest, heads, suspicion);
  }
  return suspicion;
}

/// `count` of them, the first and the last included.
std::vector<std::int64_t> evenly_spaced(const std::vector<std::int64_t>& all, std::int64_t count) {
  if (std::ssize(all) <= count) return all;
  std::vector<std::int64_t> spaced;
  for (std::int64_t i = 0; i < count; ++i) spaced.push_back(all[i * (std::ssize(all) - 1) / (count - 1)]);
  return spaced;
}

/// Chunks that exact arithmetic can be asked about.
std::int64_t affordable(const Problem& p, std::int64_t least, double most_work) {
  return std::max(least, std::int64_t(most_work / double(kChunk * p.HV * p.K * p.V)));
}

}  // namespace

std::vector<std::int64_t> chosen_chunks(const Problem& problem, const Tensors& inputs,
                                        const Tensors& results, std::int64_t most, double most_work) {
  std::vector<std::int64_t> all(chunk_count(problem));
  std::iota(all.begin(), all.end(), 0);
  if (std::ssize(all) <= most) return all;
  const auto screened = evenly_spaced(all, affordable(problem, most, most_work));
  const auto spaced = evenly_spaced(all, most / 2);
  std::set<std::int64_t> chosen(spaced.begin(), spaced.end());
  const auto suspicion = suspicions(cut(problem, inputs, results, screened));
  std::vector<std::int64_t> order(screened.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](auto i) { return suspicion[i]; });
  for (auto i : order)
    if (std::ssize(chosen) < most) chosen.insert(screened[i]);
  return {chosen.begin(), chosen.end()};
}

}  // namespace gdr2
