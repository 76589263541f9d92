// SPDX-License-Identifier: Apache-2.0
#include "properties/laws/balance.hpp"

#include <algorithm>

#include "properties/judge/tolerances.hpp"
#include "reference/error.hpp"

namespace gdr2::laws {
namespace {

/// rms of the rows (tokens, or one state) of each sequence, head by head: [N, heads]
std::vector<double> rms(const Problem& p, bool state, const std::vector<double>& x,
                        std::int64_t heads, std::int64_t channels) {
  std::vector<double> rms;
  std::int64_t n = 0;
  for (auto s : p.sequences()) {
    if (state) s = {n, n + 1};
    for (std::int64_t h = 0; h < heads; ++h) {
      double sum = 0;
      for (auto row = s.begin; row < s.end; ++row)
        for (std::int64_t c = 0; c < channels; ++c)
          sum += std::pow(x[(row * heads + h) * channels + c], 2);
      const auto count = double(std::max<std::int64_t>(1, s.length() * channels));
      rms.push_back(std::sqrt(sum / count));
    }
    ++n;
  }
  return rms;
}

}  // namespace

Figures::Figures(const Problem& problem, const Tensors& tensors, double unit)
    : problem_(problem), unit_(unit) {
  for (const auto& [name, tensor] : tensors) {
    if (is_parameter(name)) continue;
    const bool state = is_state(name);
    const auto heads = state ? problem.HV : tensor.shape()[2];
    const auto channels = state ? problem.K * problem.V : tensor.shape()[3];
    Values v{tensor.to_doubles(), heads, channels, {}};
    v.rms = rms(problem, state, v.values, heads, channels);
    values_[name] = std::move(v);
  }
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
