// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/elements.hpp"

#include <algorithm>
#include <cmath>

#include "properties/judge/census.hpp"
#include "properties/judge/tolerances.hpp"
#include "reference/error.hpp"
#include "reference/rounding.hpp"

namespace gdr2 {
namespace {

constexpr Name kOrder[] = {Name::T,  Name::Aqk, Name::A,  Name::Y,  Name::U,  Name::H,  Name::R,
                           Name::o,  Name::ht,  Name::dH, Name::dR, Name::P,  Name::dv, Name::dw,
                           Name::dq, Name::db,  Name::dk, Name::dg, Name::dh0};

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

bool judge_z(TensorVerdict& tensor, double allowed) {
  const auto& s = tensor.stats;
  if (s.max_z <= allowed) return true;
  tensor.state = State::kFailed;
  tensor.reason = fmt::format("{}: {} is z = {:.3g} (sigma {:.3g}); allowed {:g}", to_string(s.name),
                              describe(s.worst.front()), s.max_z, s.worst.front().sigma, allowed);
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

TensorVerdict tensor_of(const Evidence& e, const Cut* cut, Name name, const char* leg) {
  const auto& values = e.values.at(name);
  const auto& y = e.envelope.reference.at(name);
  const auto& sigma = e.envelope.sigma.at(name);
  const auto dtype = dtype_of(e.problem, name);
  TensorVerdict tensor{.stats = measure(e.problem, name, dtype, values, y, sigma),
                       .leg = leg,
                       .census = take_census(dtype, e.contract, values, y, sigma)};
  if (cut)
    for (auto& element : tensor.stats.worst)
      element.where = name_in_whole(*cut, name, element.index);
  return tensor;
}

}  // namespace

int order_of_forming(Name name) {
  return int(std::find(std::begin(kOrder), std::end(kOrder), name) - std::begin(kOrder));
}

void judge_elements(const Evidence& e, const Cut* cut, Verdict& verdict) {
  const char* leg = cut ? "local" : "global";
  std::vector<Name> names;
  for (const auto& [name, x] : e.values) names.push_back(name);
  // Results first in a whole problem: their words are what a user knows. Chunks in the order of forming.
  std::ranges::stable_sort(names, {}, [&](Name name) { return cut ? order_of_forming(name) : is_stage(name); });
  Figure figure{leg};
  for (auto name : names) {
    auto tensor = tensor_of(e, cut, name, leg);
    const double allowed = tolerance::z_of(e.contract, name);
    if (!judge_finite(tensor)) {
      record(verdict, std::move(tensor), "exact");
      continue;
    }
    if (tensor.stats.count > 0 && !(tensor.stats.max_z * figure.allowed < figure.value * allowed)) {
      figure.value = tensor.stats.max_z, figure.allowed = allowed;
      figure.what = fmt::format("{} {}", to_string(name), tensor.stats.worst.front().where);
    }
    if (judge_z(tensor, allowed) && !cut && !is_stage(name) &&
        !has_power(tensor, e.envelope.reference.at(name), e.envelope.sigma.at(name), allowed)) {
      tensor.state = State::kMistrusted;
      tensor.reason = fmt::format("{}: an all-zero result would pass too", to_string(name));
    }
    record(verdict, std::move(tensor), leg);
  }
  if (!figure.what.empty()) verdict.figures.push_back(figure);
}

}  // namespace gdr2
