// SPDX-License-Identifier: Apache-2.0
#include "properties/power/clean_errors.hpp"

#include <algorithm>
#include <cmath>

#include "properties/judge/check.hpp"
#include "properties/judge/second_look.hpp"
#include "properties/judge/tolerances.hpp"
#include "properties/power/channel_order.hpp"
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

CleanErrors errors_of(const Evidence& e, Name name, int order) {
  const auto& y = e.envelope.reference.at(name);
  const auto& sigma = e.envelope.sigma.at(name);
  const auto& value = e.values.at(name);
  const auto stored = format_of(dtype_of(e.problem, name));
  CleanErrors errors{.name = name, .order = order, .elements = std::ssize(y)};
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double z = z_of(value[i], y[i], sigma[i], stored);
    if (!(std::fabs(z) <= tolerance::z_of(e.contract, name))) {
      ++errors.beyond;
      if (!std::isfinite(z)) continue;
    }
    errors.sum_z += z;
    errors.sum_z2 += z * z;
    errors.max_z = std::max(errors.max_z, std::fabs(z));
  }
  return errors;
}

/// Of every tensor. Elements beyond get their second look, and the sigma that it gives them.
void measure_order(const Tensors& inputs, int order, const EnvelopeSource& envelope_of, Evidence& e,
                   std::vector<CleanErrors>& all) {
  std::vector<CleanErrors> first;
  for (const auto& [name, x] : e.values) first.push_back(errors_of(e, name, order));
  if (std::ranges::all_of(first, [](const auto& errors) { return errors.beyond == 0; })) {
    all.insert(all.end(), first.begin(), first.end());
    return;
  }
  const auto sigma = e.envelope.sigma;
  look_again(e, inputs, envelope_of);
  for (const auto& before : first) {
    auto& after = all.emplace_back(errors_of(e, before.name, order));
    after.explained = before.beyond - after.beyond;
  }
  e.envelope.sigma = sigma;  // of the next order its own elements are accused
}

}  // namespace

CleanCase measure_clean(const Kernel& kernel, const Case& c, int orders, EnvelopeMemo& memo) {
  CleanCase out{check(kernel, c, {.envelope = memo.source(), .diagnosis = false}), {}};
  if (out.verdict.state != State::kPassed && out.verdict.state != State::kFailed) return out;
  const laws::Call call{c.problem, make_inputs(c)};
  Evidence e{c.problem, kernel.contract(c.problem), {}, {}, {}, {}};
  const auto& envelope = memo.get(c.problem, call.inputs, e.contract);
  e.envelope.reference = envelope.reference, e.envelope.sigma = envelope.sigma;
  for (int order = 0; order < orders; ++order) {
    e.values = to_values<double>(run_in_order(kernel, call, order));
    measure_order(call.inputs, order, memo.source(), e, out.errors);
  }
  return out;
}

}  // namespace gdr2
