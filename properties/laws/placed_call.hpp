// SPDX-License-Identifier: Apache-2.0
// What the laws that hold to the bit are made of: calls whose values lie where the kernel works
// (Kernel::memory), changed and compared there. The same law runs in host memory and on a device;
// of a device only the verdict comes back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fixtures/case.hpp"
#include "kernels/kernel.hpp"
#include "kernels/resident/array.hpp"

namespace gdr2::laws {

/// A problem with its values. Inputs are shared between calls: what changes one takes a copy.
struct PlacedCall {
  Problem problem;
  Arrays inputs;
};

/// Drawn, or read, and placed. Large ones are drawn once for all laws of a case, one after another.
PlacedCall placed_call(const Kernel& kernel, const Case& c);

/// Outputs and gradients, in memory that held NaN. Throws Unsupported when the kernel does not take
/// the problem.
Arrays run(const Kernel& kernel, const PlacedCall& call);

/// A dense array for a tensor of the problem, NaN.
Array make_array(const Kernel& kernel, const Problem& problem, Name name);

/// Tokens of a sequence, from its `begin`-th on, in an array [B, T, ...].
Array tokens(const Problem& problem, const Array& array, std::int64_t n, std::int64_t begin,
             std::int64_t count);

/// Every `step`-th entry of an axis, from one on.
Array every(const Array& array, std::size_t axis, std::int64_t begin, std::int64_t step);

/// What a sequence has of a tensor: its tokens, or its state.
Array of_sequence(const Problem& problem, Name name, const Array& array, std::int64_t n);

/// The sequences `order` of a call, as a call of their own (as select of law_run.hpp).
PlacedCall select(const PlacedCall& call, const std::vector<std::int64_t>& order);

/// First element of `name` whose value differs, in one sentence, and how many do. `got` is the
/// whole of a result of the problem or a part of it.
std::optional<std::string> difference(const Problem& problem, Name name, const Array& got,
                                      const Array& want);

/// As above over all arrays that both hold.
std::optional<std::string> difference(const Problem& problem, const Arrays& got,
                                      const Arrays& want);

}  // namespace gdr2::laws
