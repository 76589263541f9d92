// SPDX-License-Identifier: Apache-2.0
// A problem cut at its chunk borders (docs/NUMERICS.md, LOCAL). Every chosen chunk becomes a sequence
// of its own, of a packed problem, that starts from the state which the kernel itself exported for it
// and, backward, ends in the cotangent that the kernel exported. What the kernel made of that
// chunk are the results: its rows of o and of the gradients, the next chunk's state as ht, the
// previous chunk's cotangent as dh0, and its stages. A cut problem is a problem: whatever judges one,
// judges chunks.
#pragma once

#include <string>

#include "properties/judge/places.hpp"
#include "reference/run.hpp"

namespace gdr2 {

struct Cut {
  Problem problem;
  Tensors inputs;
  Values<double> results;      ///< NaN where the kernel gives no such value: unknown
  std::vector<Chunk> chunks;   ///< sequence i of `problem` is chunks[i] of the whole
};

/// The states that a cut needs were exported: H, and dH with a backward.
bool can_cut(const Problem& problem, const Tensors& results);

/// `chosen`: indices into chunks_of(problem). dA_log and ddt_bias, sums over all chunks, are left out.
Cut cut(const Problem& problem, const Tensors& inputs, const Tensors& results,
        const std::vector<std::int64_t>& chosen);

/// An element of the cut by what it is in the whole: "sequence 0 chunk 3 row 17 head 1 channel 5".
std::string name_in_whole(const Cut& cut, Name name, std::int64_t index);

}  // namespace gdr2
