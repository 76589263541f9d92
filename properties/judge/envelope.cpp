// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/envelope.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <numeric>
#include <span>
#include <thread>

#include "properties/judge/tolerances.hpp"
#include "reference/emulate.hpp"
#include "reference/error.hpp"
#include "reference/error_stats.hpp"
#include "reference/rounding.hpp"
#include "reference/scattered.hpp"

namespace gdr2 {
namespace {

/// Members by their numbers, which seed them.
struct Members {
  int first, count;
  Contract contract;
  bool scattered = false;
};

/// The same, with decays split at blocks of other rows: 8 and 16 are what kernels have.
Contract with_other_blocks(Contract contract) {
  contract.direct_rows = contract.direct_rows == 16 ? 8 : 16;
  return contract;
}

/// The ensembles of a look.
std::vector<Members> members_of(Look look, const Contract& contract) {
  if (look == Look::kFirst) return {{0, tolerance::kEnsemble, contract}};
  std::vector<Members> all;
  if (look == Look::kSecond) all.push_back({tolerance::kEnsemble, tolerance::kSecondLook, contract});
  if (contract.accumulator == Format::kF64) return all;
  all.push_back({0, tolerance::kScattered, contract, true});
  if (!contract.token_by_token()) all.push_back({0, tolerance::kScattered, with_other_blocks(contract), true});
  return all;
}

/// The token recurrence, in a precision that is exact for the contract's purposes; stages by the chunk
/// form in double.
Values<double> truth(const Problem& problem, const Values<double>& in, const Contract& contract,
                     const std::vector<Name>& stages) {
  auto values = contract.accumulator != Format::kF64
                    ? reference<double>(problem, in)
                    : convert<double>(reference<Quad>(problem, convert<Quad>(in)));
  if (!stages.empty()) values.merge(exact_stages(problem, in, stages));
  return values;
}

/// Squared errors summed over the ensemble; `exact` stays true where every member hit y*.
struct Spread {
  std::vector<double> sum;
  std::vector<char> exact;
};

/// Returns the member's errors.
std::vector<float> accumulate(const std::vector<double>& y, const std::vector<double>& x,
                              Spread& spread) {
  spread.sum.resize(y.size(), 0.0);
  spread.exact.resize(y.size(), 1);
  std::vector<float> errors(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = x[i] - y[i];
    spread.sum[i] += error * error;
    spread.exact[i] &= x[i] == y[i];
    errors[i] = float(error);
  }
  return errors;
}

/// take(make(n)) for every member, in their order; several at a time when a member is much work.
template <class Make, class Take>
void each_member(const Problem& p, const Members& members, const Make& make, const Take& take) {
  constexpr double kMuch = 0x1p25;  // tokens times elements of a state: about a second
  constexpr unsigned kAtOnce = 8;   // a member is as large as all results in double
  const double work = double(p.B * p.T) * double(p.HV * p.K * p.V);
  const int at_once = work >= kMuch ? int(std::clamp(std::thread::hardware_concurrency(), 1u, kAtOnce)) : 1;
  const int end = members.first + members.count;
  for (int n = members.first; n < end; n += at_once) {
    std::vector<std::future<Values<double>>> others;
    for (int i = n + 1; i < std::min(n + at_once, end); ++i)
      others.push_back(std::async(std::launch::async, make, i));
    take(make(n));
    for (auto& other : others) take(other.get());
  }
}

bool is_score(Name name) { return name == Name::T || name == Name::A || name == Name::Aqk; }

/// Elements whose errors are pooled: consecutive ones of `order`, `width` at a time.
struct Pools {
  std::vector<std::size_t> order;
  std::size_t width;
};

/// Rows; of scores, [64, 64], blocks of 16 x 16, inside which all are formed alike. A vector [H] is no
/// row: its elements belong to heads that may differ by any factor.
Pools pools_of(const Problem& problem, Name name) {
  constexpr std::size_t kBlock = 16, kRow = kChunk;
  const auto shape = shape_of(problem, name);
  Pools pools{std::vector<std::size_t>(element_count(shape)), 1};
  std::iota(pools.order.begin(), pools.order.end(), 0);
  if (shape.size() > 1) pools.width = std::max<std::int64_t>(1, shape.back());
  if (!is_score(name)) return pools;
  pools.width = kBlock * kBlock;
  for (std::size_t i = 0; i < pools.order.size(); ++i) {
    const auto matrix = i / (kRow * kRow), block = i / pools.width % (kRow / kBlock * kRow / kBlock);
    const auto row = block / (kRow / kBlock) * kBlock + i % pools.width / kBlock;
    const auto column = block % (kRow / kBlock) * kBlock + i % kBlock;
    pools.order[i] = (matrix * kRow + row) * kRow + column;
  }
  return pools;
}

/// Sum of the magnitudes of a score's terms: no partial sum in any order is larger. Of an element of A,
/// which is made of scores, the largest of its chunk's T.
Values<double> score_bounds(Problem problem, Values<double> in, const std::vector<Name>& stages) {
  if (std::ranges::none_of(stages, is_score)) return {};
  for (auto name : {Name::q, Name::k, Name::b})
    for (auto& x : in.at(name)) x = std::fabs(x);
  problem.backward = false;
  auto bounds = exact_stages(problem, in, {Name::T, Name::Aqk});
  auto& of_A = bounds[Name::A] = bounds.at(Name::T);
  constexpr std::size_t kMatrix = kChunk * kChunk;
  for (std::size_t first = 0; first < of_A.size(); first += kMatrix) {
    const auto chunk = std::span(of_A).subspan(first, kMatrix);
    const double most = *std::ranges::max_element(chunk);
    for (std::size_t i = 0; i < kMatrix; ++i) chunk[i] = i / kChunk > i % kChunk ? most : 0;
  }
  return bounds;
}

/// sigma^2 = (N s^2 + w r^2) / (N + w) + ulp^2 / 12 + flush^2, or 0 for an exact element.
std::vector<double> sigma_of(const Problem& problem, Name name, const Contract& contract,
                             const std::vector<double>& y, const Spread& spread, int count) {
  const Format stored = format_of(dtype_of(problem, name));
  const double flush =
      tolerance::kFlushed * rounding::exp2i(traits(contract.accumulator).min_exponent);
  const auto [order, width] = pools_of(problem, name);
  std::vector<double> sigma(y.size());
  for (std::size_t begin = 0; begin < y.size(); begin += width) {
    const auto pool = std::span(order).subspan(begin, width);
    double row_sum = 0;
    for (auto i : pool) row_sum += spread.sum[i];
    const double r2 = row_sum / double(width * count);
    for (auto i : pool) {
      const bool held = round_nearest(y[i], stored) == y[i];
      if (row_sum == 0 && spread.exact[i] && held) continue;
      const double ulp_stored = std::isfinite(ulp(y[i], stored)) ? ulp(y[i], stored) : 0;
      const double pooled = (spread.sum[i] + tolerance::kRowWeight * r2) /
                            (count + tolerance::kRowWeight);
      sigma[i] = std::sqrt(pooled + ulp_stored * ulp_stored / 12 + flush * flush);
    }
  }
  return sigma;
}

/// A score is one sum. Where its terms have few bits hardly any order rounds, and no draw may have shown it.
void allow_a_rounding(const Contract& contract, const std::vector<double>& bound, std::vector<double>& sigma) {
  for (std::size_t i = 0; i < sigma.size(); ++i)
    if (bound[i] > 0) sigma[i] = std::hypot(sigma[i], tolerance::kOfOneRounding * ulp(bound[i], contract.accumulator));
}

/// Squared errors of every tensor over an ensemble; keep(errors of a member).
template <class Keep>
std::map<Name, Spread> spreads_of(const Problem& problem, const Values<double>& in,
                                  const std::vector<Name>& stages, const Members& members,
                                  const Values<double>& reference, const Keep& keep) {
  std::map<Name, Spread> spreads;
  const auto make = [&](int n) {
    return members.scattered ? emulate_scattered(problem, in, members.contract, n + 1, stages)
                             : emulate(problem, in, members.contract, RoundingMode::kStochastic, n + 1, stages);
  };
  each_member(problem, members, make, [&](const Values<double>& values) {
    Values<float> errors;
    for (const auto& [name, x] : values) errors[name] = accumulate(reference.at(name), x, spreads[name]);
    keep(std::move(errors));
  });
  return spreads;
}

void refuse_overflow(const Problem& problem, Name name, const std::vector<double>& y, const Spread& spread) {
  for (std::size_t i = 0; i < y.size(); ++i)
    if (std::isfinite(y[i]) && !std::isfinite(spread.sum[i]))
      throw EnvelopeOverflow(fmt::format("{} {}: the contract's own arithmetic overflows where the reference is {:g}",
                                         to_string(name), element_name(problem, name, i), y[i]));
}

void take_larger(std::vector<double>& sigma, const std::vector<double>& other) {
  for (std::size_t i = 0; i < sigma.size(); ++i) sigma[i] = std::max(sigma[i], other[i]);
}

}  // namespace

Envelope make_envelope(const Problem& problem, const Tensors& inputs, const Contract& contract,
                       const std::vector<Name>& stages, Look look) {
  const auto in = to_values<double>(inputs);
  Envelope envelope{truth(problem, in, contract, stages), {}, {}};
  const auto keep = [&](Values<float> errors) {
    if (look == Look::kFirst) envelope.members.push_back(std::move(errors));
  };
  const auto bounds = score_bounds(problem, in, stages);
  for (const auto& [name, y] : envelope.reference) envelope.sigma[name].assign(y.size(), 0.0);
  for (const auto& members : members_of(look, contract)) {
    auto spreads = spreads_of(problem, in, stages, members, envelope.reference, keep);
    for (const auto& [name, y] : envelope.reference) {
      refuse_overflow(problem, name, y, spreads[name]);
      auto sigma = sigma_of(problem, name, contract, y, spreads[name], members.count);
      if (is_score(name)) allow_a_rounding(contract, bounds.at(name), sigma);
      take_larger(envelope.sigma[name], sigma);
    }
  }
  return envelope;
}

}  // namespace gdr2
