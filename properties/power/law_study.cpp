// SPDX-License-Identifier: Apache-2.0
#include "properties/power/law_study.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "properties/judge/check.hpp"
#include "properties/power/mutant.hpp"

namespace gdr2::power {
namespace {

/// Runs that differ break whatever compares two of them, and say nothing of what a law asks. Only a
/// fault around a call can make them differ: the others are functions of what they are given.
bool is_for(const Law& law, const Fault& fault) {
  if (law.name == "repeatable") return std::holds_alternative<OnCall>(fault.change);
  return fault.kind != "races";
}

/// A kernel with a fault, until it is caught.
struct Suspect {
  const Fault* fault;
  std::unique_ptr<Kernel> kernel;
  std::optional<LawCaught> caught;
};

/// The forms whose right kernel obeys the law on a case.
std::set<Form> innocent_forms(const Law& law, const Case& c, LawPower& power) {
  std::set<Form> forms;
  bool spoken = false;
  for (const auto form : {Form::kChunk, Form::kToken}) {
    const auto& kernel = right_kernel(form);
    const auto verdict = law.check(kernel, c);
    spoken |= verdict.state != State::kSkipped;
    if (verdict.state == State::kPassed) forms.insert(form);
    if (accuses(verdict)) power.alarms.push_back("kernel=" + kernel.name() + " " + to_string(c));
  }
  power.spoken += spoken;
  return forms;
}

}  // namespace

std::optional<LawPower> power_of_law(const Law& law, const std::vector<Case>& cases,
                                     const std::set<std::string>& fault_names,
                                     const std::function<bool()>& stopped) {
  const auto own = fresh_faults();
  std::vector<Suspect> suspects;
  for (const auto& fault : own)
    if (fault_names.contains(fault.name) && is_for(law, fault)) suspects.push_back({&fault, make_mutant(fault), {}});
  LawPower power;
  for (const auto& c : cases) {
    const auto forms = innocent_forms(law, c, power);
    for (auto& [fault, kernel, caught] : suspects) {
      if (stopped()) return std::nullopt;
      if (caught || !forms.contains(fault->form)) continue;
      if (const auto verdict = law.check(*kernel, c); accuses(verdict))
        caught = {fault->name, fault->kind, to_string(c), verdict.reason};
    }
  }
  for (const auto& suspect : suspects)
    if (suspect.caught) power.caught.push_back(*suspect.caught);
  return power;
}

}  // namespace gdr2::power
