// SPDX-License-Identifier: Apache-2.0
// The laws by family, a file each, and what their bodies are wrapped in. Only laws.cpp and the
// families include this.
#pragma once

#include "properties/judge/envelope.hpp"
#include "properties/laws/law.hpp"
#include "properties/laws/law_run.hpp"
#include "properties/laws/placed_call.hpp"
#include "reference/error.hpp"

namespace gdr2::laws {

std::vector<Law> conservation_laws();  ///< E1 - E5
std::vector<Law> scaling_laws();       ///< X1
std::vector<Law> causality_laws();     ///< X2
std::vector<Law> sequence_laws();      ///< X3
std::vector<Law> head_laws();          ///< X4, X6
std::vector<Law> equivalence_laws();   ///< X5, and options against inputs that mean the same
std::vector<Law> repetition_laws();    ///< X7, X8
std::vector<Law> exact_data_laws();    ///< data on which nothing rounds
std::vector<Law> continuation_laws();  ///< split and resumed, token by token, superposed
std::vector<Law> serving_laws();       ///< states in a pool of slots
std::vector<Law> reduction_laws();     ///< tied gates against the older rules

/// What differs, in one sentence; nullopt: the law holds.
using Violation = std::optional<std::string>;

inline Verdict skipped(const char* why) { return {State::kSkipped, "laws", why, {}}; }

/// The verdict of what finds a violation. A problem that the kernel does not support, or on which its
/// contract overflows, skips the law; an exception is a crash of the kernel.
template <class Find>
Verdict verdict_of(const Find& find) {
  try {
    const Violation violation = find();
    if (!violation) return {};
    return {State::kFailed, "laws", *violation, {}};
  } catch (const Unsupported& reason) {
    return {State::kSkipped, "laws", reason.what(), {}};
  } catch (const EnvelopeOverflow& reason) {
    return {State::kSkipped, "laws", reason.what(), {}};
  } catch (const std::exception& error) {
    return {State::kCrashed, "laws", error.what(), {}};
  }
}

/// A law's body on the case's inputs as tensors: what is within a margin, and balances.
template <class Body>
Verdict judge(const Case& c, const Body& body) {
  return verdict_of([&] { return body(Call{c.problem, make_inputs(c)}); });
}

/// And on inputs where the kernel works: what holds to the bit.
template <class Body>
Verdict judge_in_place(const Kernel& kernel, const Case& c, const Body& body) {
  return verdict_of([&] { return body(placed_call(kernel, c)); });
}

}  // namespace gdr2::laws
