// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/check.hpp"

#include <cmath>

#include "properties/judge/envelope.hpp"
#include "properties/judge/guarded.hpp"
#include "properties/judge/tolerances.hpp"
#include "reference/error.hpp"
#include "reference/rounding.hpp"

namespace gdr2 {
namespace {

std::string describe(const Element& worst) {
  return fmt::format("{}: value {:.9g} ({:a}), reference {:.9g} ({:a})", worst.where, worst.value,
                     worst.value, worst.reference, worst.reference);
}

/// EXACT on values: a number where the reference is one, the same infinity where it is not.
bool judge_finite(TensorVerdict& tensor) {
  const auto& s = tensor.stats;
  if (s.all_finite()) return true;
  tensor.state = State::kFailed;
  tensor.reason = fmt::format("{}: {} NaN, {} infinite, {} not the expected infinity of {} elements; {}",
                              to_string(s.name), s.nan, s.inf, s.missing, s.count,
                              describe(s.worst.front()));
  return false;
}

/// GLOBAL: every element within `allowed` sigma of the reference.
bool judge_global(TensorVerdict& tensor, double allowed) {
  const auto& s = tensor.stats;
  if (s.max_z <= allowed) return true;
  tensor.state = State::kFailed;
  tensor.reason = fmt::format("{}: {} is z = {:.3g} (sigma {:.3g}); allowed {:g}", to_string(s.name),
                              describe(s.worst.front()), s.max_z, s.worst.front().sigma,
                              allowed);
  return false;
}

/// A check that a zero result would pass has no power, unless zero is the answer: every true value
/// is 0 in the stored dtype, or a subnormal of fp32 that a kernel may flush.
bool has_power(const TensorVerdict& tensor, const std::vector<double>& reference,
               const std::vector<double>& sigma, double allowed) {
  const Format stored = format_of(tensor.stats.dtype);
  bool zero_is_right = true;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double y = std::fabs(reference[i]);
    if (!(y <= allowed * sigma[i])) return true;
    zero_is_right &= y < tolerance::kFlushed * 0x1p-126 || round_nearest(y, stored) == 0;
  }
  return zero_is_right;
}

/// The verdict of a tensor takes over the verdict of the case when it is the first to fail.
void record(Verdict& verdict, TensorVerdict tensor, const char* leg) {
  if (tensor.state != State::kPassed && verdict.state != State::kFailed &&
      (verdict.state == State::kPassed || tensor.state == State::kFailed)) {
    verdict.state = tensor.state;
    verdict.leg = leg;
    verdict.reason = tensor.reason;
  }
  verdict.tensors.push_back(std::move(tensor));
}

Verdict judge_values(const Problem& problem, const Envelope& envelope, const Contract& contract,
                     const Tensors& results) {
  const double allowed = tolerance::global_z(contract);
  Verdict verdict;
  for (const auto& [name, result] : results) {
    const auto& y = envelope.reference.at(name);
    const auto& sigma = envelope.sigma.at(name);
    TensorVerdict tensor{
        measure(problem, name, result.dtype(), result.to_doubles(), y, sigma)};
    const char* leg = "exact";
    if (judge_finite(tensor)) {
      leg = "global";
      if (judge_global(tensor, allowed) && !has_power(tensor, y, sigma, allowed)) {
        tensor.state = State::kMistrusted;
        tensor.reason = fmt::format("{}: an all-zero result would pass too", to_string(name));
      }
    }
    record(verdict, std::move(tensor), leg);
  }
  return verdict;
}

Verdict run_and_judge(const Kernel& kernel, const Case& c) {
  const auto inputs = make_inputs(c);
  const auto run = run_guarded(kernel, c.problem, inputs);
  const auto contract = kernel.contract(c.problem);
  const auto envelope = make_envelope(c.problem, inputs, contract);
  auto verdict = judge_values(c.problem, envelope, contract, run.results);
  verdict.difficulty = difficulty_of(c.problem, inputs);
  if (run.fault && verdict.leg != "exact")
    verdict.state = State::kFailed, verdict.leg = "exact", verdict.reason = *run.fault;
  return verdict;
}

}  // namespace

Verdict check(const Kernel& kernel, const Case& c) {
  if (const auto reason = kernel.unsupported(c.problem))
    return {State::kSkipped, "", fmt::format("{}: {}", kernel.name(), *reason), {}};
  try {
    return run_and_judge(kernel, c);
  } catch (const EnvelopeOverflow& overflow) {
    return {State::kMistrusted, "global", overflow.what(), {}};
  } catch (const std::exception& error) {
    return {State::kCrashed, "", error.what(), {}};
  }
}

Verdict judge_results(const Case& c, const Contract& contract, const Tensors& results) {
  const auto inputs = make_inputs(c);
  const auto envelope = make_envelope(c.problem, inputs, contract);
  auto verdict = judge_values(c.problem, envelope, contract, results);
  verdict.difficulty = difficulty_of(c.problem, inputs);
  return verdict;
}

}  // namespace gdr2
