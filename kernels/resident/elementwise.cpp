// SPDX-License-Identifier: Apache-2.0
#include "kernels/resident/elementwise.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "reference/tensor.hpp"

namespace gdr2::host {
namespace {

constexpr std::int64_t kPairsOfThread = 1 << 18;  // a millisecond
constexpr std::int64_t kBlock = 4096;

/// part(begin, end, i) for the i-th of consecutive ranges of 0 .. count, each on its own thread.
template <class Part>
void in_parts(std::int64_t count, int parts, const Part& part) {
  std::vector<std::jthread> others;
  for (int i = 1; i < parts; ++i)
    others.emplace_back([&, i] { part(count * i / parts, count * (i + 1) / parts, i); });
  part(0, count / parts, 0);
}

int parts_of(std::int64_t count) {
  const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  return int(std::clamp<std::int64_t>(count / kPairsOfThread, 1, cores));
}

/// Both sides are runs of bytes with the same meaning.
bool are_runs(const ElementPairs& p) {
  return p.a_dtype == p.b_dtype &&
         (p.axes == 0 || (p.axes == 1 && p.a_stride[0] == 1 && p.b_stride[0] == 1));
}

Mismatches compare_range(const ElementPairs& p, std::int64_t begin, std::int64_t end) {
  const auto a_width = std::ptrdiff_t(size_of(p.a_dtype)),
             b_width = std::ptrdiff_t(size_of(p.b_dtype));
  Mismatches found;
  for (auto from = begin; from < end; from += kBlock) {
    const auto to = std::min(end, from + kBlock);
    if (are_runs(p) &&
        std::memcmp(p.a + from * a_width, p.b + from * b_width, (to - from) * a_width) == 0)
      continue;
    for (auto i = from; i < to; ++i) {
      const auto at = p.place(i);
      if (!same_value(load_element(p.a + at.a * a_width, p.a_dtype),
                      load_element(p.b + at.b * b_width, p.b_dtype)))
        found.add({1, i});
    }
  }
  return found;
}

}  // namespace

void transform(const ElementPairs& p, double factor, double shift) {
  const auto a_width = std::ptrdiff_t(size_of(p.a_dtype)),
             b_width = std::ptrdiff_t(size_of(p.b_dtype));
  const bool copies = factor == 1 && shift == 0 && p.a_dtype == p.b_dtype;
  const auto count = p.count();
  in_parts(count, parts_of(count), [&](std::int64_t begin, std::int64_t end, int) {
    if (copies && are_runs(p)) {
      std::memcpy(p.a + begin * a_width, p.b + begin * b_width, (end - begin) * a_width);
      return;
    }
    for (auto i = begin; i < end; ++i) {
      const auto at = p.place(i);
      const auto* from = p.b + at.b * b_width;
      auto* to = p.a + at.a * a_width;
      if (copies)
        std::memcpy(to, from, a_width);
      else
        store_element(to, p.a_dtype,
                      factor == 0 ? shift : factor * load_element(from, p.b_dtype) + shift);
    }
  });
}

Mismatches compare(const ElementPairs& p) {
  const auto count = p.count();
  std::vector<Mismatches> found(parts_of(count));
  in_parts(count, int(found.size()), [&](std::int64_t begin, std::int64_t end, int i) {
    found[i] = compare_range(p, begin, end);
  });
  Mismatches all;
  for (const auto& part : found) all.add(part);
  return all;
}

}  // namespace gdr2::host
