// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/second_look.hpp"

#include <algorithm>
#include <cmath>

#include "properties/judge/tolerances.hpp"

namespace gdr2 {
namespace {

/// Elements beyond what their envelope allows, by tensor. NaN and infinities are not a matter of draws.
using Accused = std::map<Name, std::vector<std::size_t>>;

bool beyond(const Evidence& e, Name name, std::size_t i) {
  const double error = std::fabs(e.values.at(name)[i] - e.envelope.reference.at(name)[i]);
  return std::isfinite(error) &&
         !(error <= tolerance::z_of(e.contract, name) * e.envelope.sigma.at(name)[i]);
}

Accused accused_in(const Evidence& e) {
  Accused accused;
  for (const auto& [name, x] : e.values)
    for (std::size_t i = 0; i < x.size(); ++i)
      if (beyond(e, name, i)) accused[name].push_back(i);
  return accused;
}

/// Few enough to be an accident of draws.
bool few(const Evidence& e, const Accused& accused) {
  return std::ranges::all_of(accused, [&](const auto& entry) {
    const auto shape = shape_of(e.problem, entry.first);
    return std::ssize(entry.second) <= tolerance::kAccusedRows * shape.back();
  });
}

/// Those for which the first look knows of no error at all.
Accused exact_among(const Evidence& e, const Accused& accused) {
  Accused exact;
  for (const auto& [name, elements] : accused)
    for (auto i : elements)
      if (e.envelope.sigma.at(name)[i] == 0) exact[name].push_back(i);
  return exact;
}

}  // namespace

std::int64_t look_again(Evidence& e, const Tensors& inputs, const EnvelopeSource& envelope_of) {
  auto accused = accused_in(e);
  const auto look = few(e, accused) ? Look::kSecond : Look::kScattered;
  if (look == Look::kScattered) accused = exact_among(e, accused);
  if (accused.empty()) return 0;
  std::vector<Name> stages;
  for (const auto& [name, x] : e.values)
    if (is_stage(name)) stages.push_back(name);
  const auto second = envelope_of(e.problem, inputs, e.contract, stages, look);
  std::int64_t explained = 0;
  for (const auto& [name, elements] : accused)
    for (auto i : elements) {
      auto& sigma = e.envelope.sigma.at(name)[i];
      sigma = std::max(sigma, second.sigma.at(name)[i]);
      explained += !beyond(e, name, i);
    }
  return explained;
}

}  // namespace gdr2
