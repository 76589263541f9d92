// SPDX-License-Identifier: Apache-2.0
// From Problem and Tensors to the plain structs of gdr2_kernel.h, with the tensors' storages mirrored
// in the library's memory.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "kernels/abi/gdr2_kernel.h"
#include "kernels/abi/memory_space.hpp"
#include "kernels/resident/array.hpp"
#include "reference/contract.hpp"
#include "reference/problem.hpp"

namespace gdr2 {

/// A poisoned buffer of a memory space.
SpaceBuffer make_poisoned(const MemorySpace& space, std::size_t bytes);

/// An array as the C interface describes it, where it is.
gdr2_tensor described(const Array& array);

/// Copies of host storages in a memory space. Tensors that share a storage share its copy.
class Mirror {
 public:
  explicit Mirror(const MemorySpace& space) : space_(space) {}

  /// The tensor as the C interface describes it, pointing into the mirror.
  gdr2_tensor add(const Tensor& tensor);

  /// Copies every mirrored storage back to the host.
  void download() const;

 private:
  const MemorySpace& space_;
  std::map<std::vector<std::byte>*, SpaceBuffer> copies_;
};

/// How a call's structs come by the tensor of a name: mirrored, or where it is; absent when there is
/// none.
using Describe = std::function<gdr2_tensor(Name)>;
Describe mirroring(Mirror& mirror, const Tensors& tensors);
Describe in_place(const Arrays& arrays);

/// The problem of a call; owns the sequence offsets it points to.
class AbiProblem {
 public:
  AbiProblem(const Problem& problem, const MemorySpace& space);
  const gdr2_problem* get() const { return &problem_; }

 private:
  std::vector<std::int64_t> offsets_;
  SpaceBuffer device_offsets_;
  gdr2_problem problem_;
};

Contract contract_of(const gdr2_contract& contract);

}  // namespace gdr2
