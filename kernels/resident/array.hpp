// SPDX-License-Identifier: Apache-2.0
// A strided array in the memory where a kernel works, a device's or the host's. Copies are shallow
// and parts are views; nothing comes to the host but what is asked for: whether two arrays are
// equal, and one element. So a relation between two calls of a kernel is checked where their
// tensors live, at the speed of that memory (properties/laws/placed_call.hpp).
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "kernels/abi/memory_space.hpp"
#include "reference/problem.hpp"
#include "reference/tensor.hpp"

namespace gdr2 {

class Array {
 public:
  Array() = default;
  /// Dense; every bit is set, which is NaN in every dtype.
  Array(const MemorySpace& space, DType dtype, Shape shape);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  const MemorySpace& space() const;
  std::int64_t size() const { return element_count(shape_); }
  std::byte* data() const;  ///< first element's address in its space

  /// Offset in elements, from the beginning of the storage, of the element with this row-major
  /// index: in a part of a dense array, its row-major index in the whole.
  std::int64_t position(std::int64_t index) const;
  double get(std::int64_t index) const;

  /// `count` entries of an axis, `step` apart.
  Array part(std::size_t axis, std::int64_t begin, std::int64_t count, std::int64_t step = 1) const;
  Array with_axes_swapped(std::size_t one, std::size_t other) const;
  /// An axis as two, the second of `inner` entries.
  Array with_axis_split(std::size_t axis, std::int64_t inner) const;

  /// The same memory as a tensor. Of arrays in host memory.
  Tensor as_tensor() const;

 private:
  struct Storage;
  friend std::map<Name, Array> placed(const MemorySpace&, const Tensors&);
  friend std::map<Name, Array> duplicated(const std::map<Name, Array>&);

  std::shared_ptr<Storage> storage_;
  DType dtype_ = DType::kF32;
  Shape shape_{0}, strides_{1};
  std::int64_t offset_ = 0;
};

using Arrays = std::map<Name, Array>;

/// Tensors in a space, strides, gaps and shared storages as they are. In host memory they are the
/// tensors.
Arrays placed(const MemorySpace& space, const Tensors& tensors);
/// The same with memory of their own.
Arrays duplicated(const Arrays& arrays);

/// to = factor * from + shift, element by element, rounded to to's dtype. A factor of 0 reads nothing.
void assign(const Array& to, const Array& from, double factor = 1, double shift = 0);
void fill(const Array& array, double value);
Array copy(const Array& array);  ///< dense

struct Difference {
  std::int64_t count;  ///< elements that differ; zeros of either sign are equal, NaN equals NaN
  std::int64_t first;  ///< row-major index
  double got, want;    ///< there
};
std::optional<Difference> compare(const Array& got, const Array& want);

}  // namespace gdr2
