// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/envelope.hpp"

#include <cmath>

#include "properties/judge/tolerances.hpp"
#include "reference/emulate.hpp"
#include "reference/error.hpp"
#include "reference/error_stats.hpp"
#include "reference/rounding.hpp"

namespace gdr2 {
namespace {

using tolerance::kEnsemble;

/// The token recurrence, in a precision that is exact for the contract's purposes.
Values<double> truth(const Problem& problem, const Values<double>& in, const Contract& contract) {
  if (contract.accumulator != Format::kF64) return reference<double>(problem, in);
  return convert<double>(reference<Quad>(problem, convert<Quad>(in)));
}

Values<double> member(const Problem& problem, const Values<double>& in, const Contract& contract,
                      int seed) {
  const auto run = [&](auto emulate) {
    return emulate(problem, in, contract, RoundingMode::kStochastic, seed);
  };
  auto values = run(emulate_forward);
  if (problem.backward) values.merge(run(emulate_backward));
  return values;
}

/// Squared errors summed over the ensemble; `exact` stays true where every member hit y*.
struct Spread {
  std::vector<double> sum;
  std::vector<char> exact;
};

void accumulate(const std::vector<double>& y, const std::vector<double>& x, Spread& spread) {
  spread.sum.resize(y.size(), 0.0);
  spread.exact.resize(y.size(), 1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double error = x[i] - y[i];
    spread.sum[i] += error * error;
    spread.exact[i] &= x[i] == y[i];
  }
}

/// sigma^2 = (N s^2 + w r^2) / (N + w) + ulp^2 / 12 + flush^2, or 0 for an exact element.
std::vector<double> sigma_of(const Problem& problem, Name name, const Contract& contract,
                             const std::vector<double>& y, const Spread& spread) {
  const Format stored = format_of(dtype_of(problem, name));
  const double flush =
      tolerance::kFlushed * rounding::exp2i(traits(contract.accumulator).min_exponent);
  const auto shape = shape_of(problem, name);
  // A vector [H] is no row: its elements belong to heads that may differ by any factor.
  const auto row = std::size_t(shape.size() == 1 ? 1 : std::max<std::int64_t>(1, shape.back()));
  std::vector<double> sigma(y.size());
  for (std::size_t begin = 0; begin < y.size(); begin += row) {
    double row_sum = 0;
    for (std::size_t i = begin; i < begin + row; ++i) row_sum += spread.sum[i];
    const double r2 = row_sum / double(row * kEnsemble);
    for (std::size_t i = begin; i < begin + row; ++i) {
      const bool held = round_nearest(y[i], stored) == y[i];
      if (row_sum == 0 && spread.exact[i] && held) continue;
      const double ulp_stored = std::isfinite(ulp(y[i], stored)) ? ulp(y[i], stored) : 0;
      const double pooled = (spread.sum[i] + tolerance::kRowWeight * r2) /
                            (kEnsemble + tolerance::kRowWeight);
      sigma[i] = std::sqrt(pooled + ulp_stored * ulp_stored / 12 + flush * flush);
    }
  }
  return sigma;
}

}  // namespace

Envelope make_envelope(const Problem& problem, const Tensors& inputs, const Contract& contract) {
  const auto in = to_values<double>(inputs);
  Envelope envelope{truth(problem, in, contract), {}};
  std::map<Name, Spread> spreads;
  for (int n = 0; n < kEnsemble; ++n)
    for (const auto& [name, x] : member(problem, in, contract, n + 1))
      accumulate(envelope.reference.at(name), x, spreads[name]);
  for (const auto& [name, y] : envelope.reference) {
    const auto& spread = spreads[name];
    for (std::size_t i = 0; i < y.size(); ++i)
      if (std::isfinite(y[i]) && !std::isfinite(spread.sum[i]))
        throw EnvelopeOverflow(fmt::format("{} {}: the contract's own arithmetic overflows where "
                                           "the reference is {:g}",
                                           to_string(name), element_name(problem, name, i), y[i]));
    envelope.sigma[name] = sigma_of(problem, name, contract, y, spread);
  }
  return envelope;
}

}  // namespace gdr2
