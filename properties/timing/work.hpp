// SPDX-License-Identifier: Apache-2.0
// What a call must do at least, counted from the problem alone: bytes to move once, operations of the
// rule. Times are held against these counts, so that a rate means the same for every kernel.
#pragma once

#include "kernels/kernel.hpp"

namespace gdr2 {

/// Bytes of every input read once and every result written once; the backward reads the inputs again,
/// and the cotangents.
double floor_bytes(const Problem& problem, Pass pass);

/// Floating-point operations of reference/delta_rule.hpp: per token and value head 7 K V forward
/// (decay 1, read 2, write 2, output 2) and 20 K V more backward (the state again 5; dq, dk, du, de, dg 2
/// each, dS 5).
double operations(const Problem& problem, Pass pass);

}  // namespace gdr2
