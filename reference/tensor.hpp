// SPDX-License-Identifier: Apache-2.0
// A strided tensor of fp64, fp32, bf16 or fp16 elements. Copies are shallow: they share storage, as
// views do; `clone` is deep. Elements read as double (exact) and are rounded to nearest when
// written. Knows nothing of names or problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "reference/format.hpp"

namespace gdr2 {

using Shape = std::vector<std::int64_t>;

std::int64_t element_count(const Shape& shape);

/// Strides, in elements, of a dense row-major tensor.
Shape dense_strides(const Shape& shape);

class Tensor {
 public:
  Tensor() = default;
  /// Dense, zero-filled.
  Tensor(DType dtype, Shape shape);
  /// A view of shared bytes. Throws Error when an element would lie outside the storage.
  Tensor(DType dtype, Shape shape, Shape strides, std::shared_ptr<std::vector<std::byte>> storage,
         std::int64_t offset);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  std::int64_t offset() const { return offset_; }  ///< of the first element, in elements
  std::int64_t size() const { return element_count(shape_); }
  bool is_dense() const { return strides_ == dense_strides(shape_); }
  bool empty() const { return size() == 0; }

  /// First element's address.
  std::byte* data() const { return storage_->data() + offset_ * std::ptrdiff_t(size_of(dtype_)); }
  const std::shared_ptr<std::vector<std::byte>>& storage() const { return storage_; }

  /// Offset in elements, from data(), of the element with this row-major index.
  std::int64_t position(std::int64_t index) const;

  double get(std::int64_t index) const;          ///< by row-major index, whatever the strides
  void set(std::int64_t index, double value);

  std::vector<double> to_doubles() const;        ///< row-major
  void assign(std::span<const double> values);   ///< row-major; size() values

  Tensor clone() const;                          ///< dense deep copy
  /// Every byte of the storage, padding included, set to a pattern.
  void fill_storage(std::byte pattern);

 private:
  DType dtype_ = DType::kF32;
  Shape shape_{0};
  Shape strides_{1};
  std::int64_t offset_ = 0;
  std::shared_ptr<std::vector<std::byte>> storage_ = std::make_shared<std::vector<std::byte>>();
};

/// One element at an address, as a double and back (rounded to nearest even).
double load_element(const std::byte* address, DType dtype);
void store_element(std::byte* address, DType dtype, double value);

}  // namespace gdr2
