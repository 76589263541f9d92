// SPDX-License-Identifier: Apache-2.0
// The laws by family, a file each, and what their bodies are wrapped in. Only laws.cpp and the
// families include this.
#pragma once

#include "properties/judge/envelope.hpp"
#include "properties/laws/law.hpp"
#include "properties/laws/law_run.hpp"
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

/// Runs a law's body on the case's inputs. A problem that the kernel does not support, or on which its
/// contract overflows, skips the law; an exception is a crash of the kernel.
template <class Body>
Verdict judge(const Case& c, const Body& body) {
  try {
    const Violation violation = body(Call{c.problem, make_inputs(c)});
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

}  // namespace gdr2::laws
