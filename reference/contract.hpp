// SPDX-License-Identifier: Apache-2.0
// The precision contract of a kernel: to which format each arithmetic site is rounded. The error
// envelope is computed from it (docs/NUMERICS.md), so it is a claim that the suite holds a kernel to.
#pragma once

#include <string>
#include <string_view>

#include "reference/format.hpp"

namespace gdr2 {

struct Contract {
  Format operand = Format::kBF16;      ///< operands of matrix products
  Format auxiliary = Format::kNone;    ///< stored Y = A Ebar, U = A Z; kNone: R = A (Z - Ebar S)
  Format solve = Format::kF32;         ///< arithmetic of (I + T)^-1; kNone: token by token, no chunks
  Format state = Format::kF32;         ///< state carried between chunks
  Format gate = Format::kF32;          ///< cumulative log decay
  Format accumulator = Format::kF32;   ///< sums of products, elementwise arithmetic
  Format normalized = Format::kNone;   ///< q and k after the L2 norm, when stored

  /// Rows of the blocks inside which scores q.k and e.k are formed directly, at accumulator width;
  /// between blocks they are products with rounded operands. 0: everywhere, as far as factored decays
  /// stay in the operands' range.
  std::int32_t direct_rows = 16;

  bool token_by_token() const { return solve == Format::kNone; }

  bool operator==(const Contract&) const = default;
};

/// The contract of a kernel that multiplies in `products` and keeps all else at accumulator width:
/// fp32 for the formats of at most 32 bits, fp64 for fp64.
Contract standard_contract(Format products);

/// The contract of a token-by-token kernel that computes in one format throughout.
Contract token_contract(Format format);

/// "bf16", or "bf16,auxiliary=bf16,direct_rows=8": the standard contract of a format, then the sites
/// that differ, by the names of to_string. Throws Error naming `what` and the site.
Contract parse_contract(std::string_view text, std::string_view what);

/// "operand=bf16 solve=fp32 ...": every site.
std::string to_string(const Contract& contract);

}  // namespace gdr2
