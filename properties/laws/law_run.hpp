// SPDX-License-Identifier: Apache-2.0
// What the exact laws are made of: running a kernel without ceremony, changing inputs element by
// element, cutting sequences out of a problem, and comparing bits.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
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

/// First element of `name` whose value differs from the expected one, in one sentence. Zeros of
/// either sign are equal; NaN equals NaN.
std::optional<std::string> difference(const Problem& problem, Name name, const Tensor& got,
                                      const Tensor& want);

/// As above over all tensors that both hold.
std::optional<std::string> difference(const Problem& problem, const Tensors& got,
                                      const Tensors& want);

bool is_state(Name name);       ///< [N, HV, ., .]
bool is_key_side(Name name);    ///< [B, T, H, K]
bool is_value_side(Name name);  ///< [B, T, HV, V]
bool is_parameter(Name name);   ///< A_log, dt_bias and their gradients

}  // namespace gdr2::laws
