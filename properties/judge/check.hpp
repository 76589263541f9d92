// SPDX-License-Identifier: Apache-2.0
// The check: kernel x case -> verdict. It runs the legs of docs/NUMERICS.md in order and stops at
// the first that fails: EXACT (finite, everything written, nothing else touched, inputs unchanged),
// then GLOBAL (every element against the reference, in units of the error that the kernel's
// precision contract explains). Forward and backward. An exception of the kernel is CRASHED.
#pragma once

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "properties/judge/envelope.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

Verdict check(const Kernel& kernel, const Case& c, const EnvelopeSource& envelope = make_envelope);

/// Results that somebody recorded (any of o, ht, dq ... as `results`) for the inputs of a case,
/// judged under a contract that is assumed for whoever made them.
Verdict judge_results(const Case& c, const Contract& contract, const Tensors& results);

}  // namespace gdr2
