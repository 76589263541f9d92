// SPDX-License-Identifier: Apache-2.0
// What the exact laws are made of: running a kernel without ceremony, changing inputs element by
// element, and cutting sequences out of a problem.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "kernels/kernel.hpp"

namespace gdr2::laws {

/// A problem with its values.
struct Call {
  Problem problem;
  Tensors inputs;
};

/// Outputs and gradients. Throws Unsupported when the kernel does not take the problem.
Tensors run(const Kernel& kernel, const Call& call);

class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Row-major multi-index of an element; trailing entries 0 for tensors of lower rank.
using Index = std::array<std::int64_t, 4>;

/// A copy of the tensor with every element replaced.
using Change = std::function<double(const Index& index, double value)>;
Tensor changed(const Tensor& tensor, const Change& change);

/// The sequences `order` of a problem, as a problem of their own: packed when the original is, else a
/// batch. Sequences may be left out, repeated or reordered.
Problem select(const Problem& problem, const std::vector<std::int64_t>& order);

/// Likewise of a call.
Call select(const Call& call, const std::vector<std::int64_t>& order);

/// Flattened tokens of a sequence.
Sequence sequence_of(const Problem& problem, std::int64_t n);

}  // namespace gdr2::laws
