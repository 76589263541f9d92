// SPDX-License-Identifier: Apache-2.0
// Rows of a decode call between rows that are padding (a negative slot, gdr2_kernel.h). What a kernel owes
// them: nothing is read or written for padding, its o is zero, and the rows beside it are what they are
// alone, to the bit. The values of padding are NaN, and o holds poison before, so that a kernel that uses
// one or leaves the other is seen.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/problem.hpp"

namespace gdr2 {

struct PaddedRows {
  Problem problem;                  ///< the rows with one of padding before and one after
  Tensors inputs;                   ///< dense
  Tensors outputs;                  ///< o, poisoned
  std::vector<std::int32_t> slots;  ///< of all rows
};

/// `slots`: of the problem's own rows.
PaddedRows between_padding(const Problem& problem, const Tensors& inputs,
                           const std::vector<std::int32_t>& slots);

/// Throws KernelFault (kWrong) naming the row. `alone`: what the kernel made of the rows without padding.
void check_between_padding(const PaddedRows& rows, const Tensors& alone);

}  // namespace gdr2
