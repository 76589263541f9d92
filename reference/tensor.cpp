// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor.hpp"

#include <algorithm>
#include <cstring>

#include "reference/error.hpp"
#include "reference/rounding.hpp"

namespace gdr2 {
namespace {

template <class T>
T load_bytes(const std::byte* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

template <class T>
void store_bytes(std::byte* address, T value) {
  std::memcpy(address, &value, sizeof value);
}

}  // namespace

std::int64_t element_count(const Shape& shape) {
  std::int64_t n = 1;
  for (auto extent : shape) n *= extent;
  return n;
}

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

double load_element(const std::byte* address, DType dtype) {
  switch (dtype) {
    case DType::kF64: return load_bytes<double>(address);
    case DType::kF32: return load_bytes<float>(address);
    case DType::kBF16: return decode_bf16(load_bytes<std::uint16_t>(address));
    case DType::kF16: break;
  }
  return decode_f16(load_bytes<std::uint16_t>(address));
}

void store_element(std::byte* address, DType dtype, double value) {
  switch (dtype) {
    case DType::kF64: return store_bytes(address, value);
    case DType::kF32: return store_bytes(address, static_cast<float>(value));
    case DType::kBF16: return store_bytes(address, encode_bf16(value));
    case DType::kF16: return store_bytes(address, encode_f16(value));
  }
}

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      strides_(dense_strides(shape_)),
      storage_(std::make_shared<std::vector<std::byte>>(element_count(shape_) * size_of(dtype))) {}

Tensor::Tensor(DType dtype, Shape shape, Shape strides,
               std::shared_ptr<std::vector<std::byte>> storage, std::int64_t offset)
    : dtype_(dtype),
      shape_(std::move(shape)),
      strides_(std::move(strides)),
      offset_(offset),
      storage_(std::move(storage)) {
  if (strides_.size() != shape_.size())
    fail("tensor view: {} strides for {} dimensions", strides_.size(), shape_.size());
  std::int64_t low = offset_, high = offset_;
  for (std::size_t i = 0; i < shape_.size(); ++i) {
    const auto reach = (shape_[i] - 1) * strides_[i];
    (reach < 0 ? low : high) += reach;
  }
  const auto count = static_cast<std::int64_t>(storage_->size() / size_of(dtype_));
  if (!empty() && (low < 0 || high >= count))
    fail("tensor view: elements {} to {} of a storage of {}", low, high, count);
}

std::int64_t Tensor::position(std::int64_t index) const {
  std::int64_t position = 0;
  for (std::size_t i = shape_.size(); i-- > 0;) {
    position += index % shape_[i] * strides_[i];
    index /= shape_[i];
  }
  return position;
}

double Tensor::get(std::int64_t index) const {
  return load_element(data() + position(index) * std::ptrdiff_t(size_of(dtype_)), dtype_);
}

void Tensor::set(std::int64_t index, double value) {
  store_element(data() + position(index) * std::ptrdiff_t(size_of(dtype_)), dtype_, value);
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> values(size());
  if (is_dense()) {
    const auto width = size_of(dtype_);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = load_element(data() + i * width, dtype_);
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = get(i);
  }
  return values;
}

void Tensor::assign(std::span<const double> values) {
  if (std::int64_t(values.size()) != size())
    fail("tensor: {} values for {} elements", values.size(), size());
  for (std::size_t i = 0; i < values.size(); ++i) set(i, values[i]);
}

Tensor Tensor::clone() const {
  Tensor copy(dtype_, shape_);
  const auto width = size_of(dtype_);
  if (is_dense()) {
    std::copy_n(data(), size() * width, copy.data());
  } else {
    for (std::int64_t i = 0; i < size(); ++i)
      std::copy_n(data() + position(i) * std::ptrdiff_t(width), width, copy.data() + i * width);
  }
  return copy;
}

void Tensor::fill_storage(std::byte pattern) {
  std::fill(storage_->begin(), storage_->end(), pattern);
}

}  // namespace gdr2
