// SPDX-License-Identifier: Apache-2.0
#include "properties/power/clean_errors.hpp"

#include <cmath>

#include "properties/judge/check.hpp"
#include "properties/judge/envelope.hpp"
#include "properties/judge/tolerances.hpp"
#include "properties/power/channel_order.hpp"
#include "properties/power/envelope_memo.hpp"
#include "reference/rounding.hpp"

namespace gdr2 {
namespace {

/// A right infinity (where the reference rounds to it) is no error; 0 / 0 is none either.
double z_of(double value, double reference, double sigma, Format stored) {
  const double rounded = round_nearest(reference, stored);
  if (!std::isfinite(rounded)) return value == rounded ? 0 : HUGE_VAL;
  const double error = value - reference;
  return error == 0 ? 0 : error / sigma;
}

CleanErrors errors_of(Name name, int order, const Tensor& result, const Envelope& envelope,
                      double allowed) {
  const auto& y = envelope.reference.at(name);
  const auto& sigma = envelope.sigma.at(name);
  CleanErrors errors{.name = name, .order = order, .elements = std::ssize(y)};
  const auto value = result.to_doubles();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double z = z_of(value[i], y[i], sigma[i], format_of(result.dtype()));
    if (!(std::fabs(z) <= allowed)) {
      ++errors.beyond;
      if (!std::isfinite(z)) continue;
    }
    errors.sum_z += z;
    errors.sum_z2 += z * z;
    errors.max_z = std::max(errors.max_z, std::fabs(z));
  }
  return errors;
}

}  // namespace

CleanCase measure_clean(const Kernel& kernel, const Case& c, int orders) {
  EnvelopeMemo memo;
  CleanCase out{check(kernel, c, {.envelope = memo.source(), .diagnosis = false}), {}};
  if (out.verdict.state != State::kPassed && out.verdict.state != State::kFailed) return out;
  const laws::Call call{c.problem, make_inputs(c)};
  const auto contract = kernel.contract(c.problem);
  const auto envelope = memo.get(c.problem, call.inputs, contract);
  for (int order = 0; order < orders; ++order)
    for (const auto& [name, result] : run_in_order(kernel, call, order))
      out.errors.push_back(errors_of(name, order, result, envelope, tolerance::z_of(contract, name)));
  return out;
}

}  // namespace gdr2
