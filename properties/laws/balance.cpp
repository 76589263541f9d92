// SPDX-License-Identifier: Apache-2.0
#include "properties/laws/balance.hpp"

#include <algorithm>
#include <future>
#include <thread>

#include "properties/judge/tolerances.hpp"
#include "reference/error.hpp"

namespace gdr2::laws {
namespace {

constexpr std::int64_t kLeastOfThread = 4096;  // tokens

}  // namespace

std::optional<std::string> Figures::first_in_parts(std::int64_t count, const Part& part) {
  const auto threads = std::clamp<std::int64_t>(count / kLeastOfThread, 1,
                                                std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::future<std::optional<std::string>>> parts;
  for (std::int64_t i = 0; i < threads; ++i)
    parts.push_back(std::async(i + 1 < threads ? std::launch::async : std::launch::deferred, part,
                               count * i / threads, count * (i + 1) / threads));
  std::optional<std::string> first;
  for (auto i = parts.size(); i-- > 0;)  // the deferred one beside the others
    if (auto found = parts[i].get()) first = std::move(found);
  return first;
}

/// Of the rows (tokens, or one state) of each sequence, head by head. [N, heads]
std::vector<double> Figures::rms_of(const Values& v, bool state) const {
  std::vector<double> rms;
  std::int64_t n = 0;
  for (auto s : problem_.sequences()) {
    if (state) s = {n, n + 1};
    std::vector<double> sums(v.heads, 0.0);
    for (auto row = s.begin; row < s.end; ++row)
      for (std::int64_t h = 0; h < v.heads; ++h)
        for (std::int64_t c = 0; c < v.channels; ++c) {
          const double x = v.get((row * v.heads + h) * v.channels + c);
          sums[h] += x * x;
        }
    const auto count = double(std::max<std::int64_t>(1, s.length() * v.channels));
    for (double sum : sums) rms.push_back(std::sqrt(sum / count));
    ++n;
  }
  return rms;
}

Figures::Figures(const Problem& problem, const Tensors& tensors, double unit)
    : problem_(problem), unit_(unit) {
  std::vector<std::future<void>> sizes;
  for (const auto& [name, tensor] : tensors) {
    if (is_parameter(name) || is_stage(name)) continue;
    const bool state = is_state(name);
    auto& v = values_[name] = {tensor, tensor.is_dense(), state ? problem.HV : tensor.shape()[2],
                               state ? problem.K * problem.V : tensor.shape()[3], {}};
    sizes.push_back(std::async(std::launch::async, [this, &v, state] { v.rms = rms_of(v, state); }));
  }
  for (auto& size : sizes) size.get();
}

double Figures::size_of_product(Name x, Name y, std::int64_t n, std::int64_t head) const {
  const auto s = problem_.sequences()[n];
  const auto channels = values_.at(x).channels;
  double sum = 0;
  for (auto t = s.begin; t < s.end; ++t)
    for (std::int64_t c = 0; c < channels; ++c)
      sum += std::pow(at(x, t, head, c) * at(y, t, head, c), 2);
  return std::sqrt(sum / double(std::max<std::int64_t>(1, s.length() * channels)));
}

double Figures::state(Name name, std::int64_t n, std::int64_t hv, std::int64_t k,
                      std::int64_t v) const {
  const bool kv = problem_.layout == StateLayout::kKV;
  return at(name, n, hv, kv ? k * problem_.V + v : v * problem_.K + k);
}

std::optional<std::string> Figures::violation(const Balance& balance, const char* law,
                                              std::int64_t n, std::int64_t t, std::int64_t h,
                                              std::int64_t c) const {
  const double allowed = unit_ * balance.scale() + 0x1p-126;
  if (std::fabs(balance.rest()) <= allowed) return std::nullopt;
  auto where = fmt::format("sequence {}", n);
  if (t >= 0) where += fmt::format(" token {}", t);
  where += fmt::format(" head {}", h);
  if (c >= 0) where += fmt::format(" channel {}", c);
  return fmt::format("{}: {} is off by {:.3g}, allowed {:.3g}", where, law, balance.rest(),
                     allowed);
}

double unit_of(const Contract& contract, const Problem& problem) {
  const auto precision =
      std::min(traits(contract.operand).precision, traits(format_of(problem.storage())).precision);
  return tolerance::balance_of(contract) * std::ldexp(1, -precision);
}

}  // namespace gdr2::laws
