// SPDX-License-Identifier: Apache-2.0
// The check: kernel x case -> verdict. It runs the legs of docs/NUMERICS.md: EXACT (finite, everything
// written, nothing else touched, inputs unchanged), GLOBAL (every element against the reference, in
// units of the error that the kernel's precision contract explains), LOCAL (the same chunk by chunk,
// from the states that the kernel exports), STATISTICS and BIAS (classes of elements), CONTRACT (no
// site computed in less than declared). The first failure decides, and a failure is localised.
// Forward and backward. An exception of the kernel is CRASHED.
#pragma once

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "properties/judge/envelope.hpp"
#include "properties/judge/tolerances.hpp"
#include "reference/verdict.hpp"

namespace gdr2 {

/// Legs beyond EXACT and GLOBAL can be left out where many verdicts are needed and one leg decides.
struct CheckOptions {
  EnvelopeSource envelope = make_envelope;  ///< of the whole problem
  bool local = true, statistics = true, contract = true;
  bool diagnosis = true;                    ///< localise a failure
  double global_work = tolerance::kGlobalWork;  ///< of a problem, up to which GLOBAL is run (large.hpp)
};

Verdict check(const Kernel& kernel, const Case& c, const CheckOptions& options = {});

/// CRASHED, TIMED_OUT, FAILED or SKIPPED, with the reason.
Verdict verdict_of(const KernelFault& fault);

/// The kernel is at fault: FAILED, CRASHED or TIMED_OUT. MISTRUSTED accuses the check.
bool accuses(const Verdict& verdict);

/// Results that somebody recorded (any of o, ht, dq ... as `results`) for the inputs of a case,
/// judged under a contract that is assumed for whoever made them.
Verdict judge_results(const Case& c, const Contract& contract, const Tensors& results,
                      const CheckOptions& options = {});
/// The same for inputs that are at hand.
Verdict judge_results(const Problem& problem, const Tensors& inputs, const Contract& contract,
                      const Tensors& results, const CheckOptions& options = {});

}  // namespace gdr2
