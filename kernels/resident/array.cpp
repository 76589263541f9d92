// SPDX-License-Identifier: Apache-2.0
#include "kernels/resident/array.hpp"

#include "reference/error.hpp"

namespace gdr2 {
namespace {

const MemorySpace& host_space() { return memory_space(GDR2_HOST); }

/// Pairs of elements of arrays of one shape, with axes that lie together in both joined.
ElementPairs pairs_of(const Array& a, const Array& b) {
  if (a.shape() != b.shape() || a.shape().size() > kMaxAxes || &a.space() != &b.space())
    fail("arrays: [{}] beside [{}]", fmt::join(a.shape(), ","), fmt::join(b.shape(), ","));
  ElementPairs p{a.data(), b.data(), a.dtype(), b.dtype(), 0, {}, {}, {}};
  for (std::size_t d = 0; d < a.shape().size(); ++d) {
    const auto extent = a.shape()[d], a_stride = a.strides()[d], b_stride = b.strides()[d];
    if (extent == 1) continue;
    const int last = p.axes - 1;
    if (p.axes && p.a_stride[last] == extent * a_stride && p.b_stride[last] == extent * b_stride) {
      p.extent[last] *= extent, p.a_stride[last] = a_stride, p.b_stride[last] = b_stride;
      continue;
    }
    p.extent[p.axes] = extent, p.a_stride[p.axes] = a_stride, p.b_stride[p.axes] = b_stride;
    ++p.axes;
  }
  return p;
}

}  // namespace

/// Host memory is that of a Tensor, so that a kernel which takes tensors is handed the same bytes.
struct Array::Storage {
  Storage(const MemorySpace& where, std::size_t size)
      : space(where), bytes(size), device(where, &where == &host_space() ? 0 : size) {}

  const MemorySpace& space;
  std::size_t bytes;
  SpaceBuffer device;
  std::shared_ptr<std::vector<std::byte>> host;

  std::byte* data() const { return host ? host->data() : device.get(); }

  static std::shared_ptr<Storage> filled(const MemorySpace& space, std::size_t bytes,
                                         std::byte pattern) {
    auto storage = std::make_shared<Storage>(space, bytes);
    if (&space == &host_space())
      storage->host = std::make_shared<std::vector<std::byte>>(bytes, pattern);
    else if (bytes)
      space.fill(storage->device.get(), pattern, bytes);
    return storage;
  }

  static std::shared_ptr<Storage> of(const MemorySpace& space,
                                     const std::shared_ptr<std::vector<std::byte>>& host) {
    auto storage = std::make_shared<Storage>(space, host->size());
    if (&space == &host_space())
      storage->host = host;
    else if (!host->empty())
      space.upload(storage->device.get(), host->data(), host->size());
    return storage;
  }

  std::shared_ptr<Storage> duplicate() const {
    auto other = std::make_shared<Storage>(space, bytes);
    if (host)
      other->host = std::make_shared<std::vector<std::byte>>(*host);
    else if (bytes)
      space.copy(other->device.get(), device.get(), bytes);
    return other;
  }
};

Array::Array(const MemorySpace& space, DType dtype, Shape shape)
    : storage_(Storage::filled(space, element_count(shape) * size_of(dtype), std::byte{0xFF})),
      dtype_(dtype),
      shape_(std::move(shape)),
      strides_(dense_strides(shape_)) {}

const MemorySpace& Array::space() const { return storage_ ? storage_->space : host_space(); }

std::byte* Array::data() const {
  return storage_ ? storage_->data() + offset_ * std::ptrdiff_t(size_of(dtype_)) : nullptr;
}

std::int64_t Array::position(std::int64_t index) const {
  std::int64_t position = offset_;
  for (std::size_t d = shape_.size(); d-- > 0;) {
    position += index % shape_[d] * strides_[d];
    index /= shape_[d];
  }
  return position;
}

double Array::get(std::int64_t index) const {
  const auto width = size_of(dtype_);
  std::byte bytes[8];
  space().download(bytes, storage_->data() + position(index) * std::ptrdiff_t(width), width);
  return load_element(bytes, dtype_);
}

Array Array::part(std::size_t axis, std::int64_t begin, std::int64_t count,
                  std::int64_t step) const {
  const auto last = begin + (count - 1) * step;
  if (count < 0 ||
      (count && (begin < 0 || begin >= shape_.at(axis) || last < 0 || last >= shape_[axis])))
    fail("array: {} of {} entries from {} by {}", count, shape_.at(axis), begin, step);
  auto view = *this;
  view.shape_[axis] = count;
  view.offset_ += count ? begin * strides_[axis] : 0;
  view.strides_[axis] *= step;
  return view;
}

Array Array::with_axes_swapped(std::size_t one, std::size_t other) const {
  auto view = *this;
  std::swap(view.shape_.at(one), view.shape_.at(other));
  std::swap(view.strides_[one], view.strides_[other]);
  return view;
}

Array Array::with_axis_split(std::size_t axis, std::int64_t inner) const {
  if (inner < 1 || shape_.at(axis) % inner)
    fail("array: {} entries split by {}", shape_[axis], inner);
  auto view = *this;
  view.shape_[axis] /= inner, view.strides_[axis] *= inner;
  view.shape_.insert(view.shape_.begin() + axis + 1, inner);
  view.strides_.insert(view.strides_.begin() + axis + 1, strides_[axis]);
  return view;
}

Tensor Array::as_tensor() const {
  if (!storage_) return {};
  if (!storage_->host) fail("array: it is not in host memory");
  return Tensor(dtype_, shape_, strides_, storage_->host, offset_);
}

Arrays placed(const MemorySpace& space, const Tensors& tensors) {
  std::map<const void*, std::shared_ptr<Array::Storage>> storages;
  Arrays arrays;
  for (const auto& [name, tensor] : tensors) {
    auto& storage = storages[tensor.storage().get()];
    if (!storage) storage = Array::Storage::of(space, tensor.storage());
    auto& array = arrays[name];
    array.storage_ = storage;
    array.dtype_ = tensor.dtype();
    array.shape_ = tensor.shape(), array.strides_ = tensor.strides();
    array.offset_ = tensor.offset();
  }
  return arrays;
}

Arrays duplicated(const Arrays& arrays) {
  std::map<const void*, std::shared_ptr<Array::Storage>> storages;
  auto copies = arrays;
  for (auto& [name, array] : copies) {
    auto& storage = storages[array.storage_.get()];
    if (!storage && array.storage_) storage = array.storage_->duplicate();
    array.storage_ = storage;
  }
  return copies;
}

void assign(const Array& to, const Array& from, double factor, double shift) {
  if (to.size()) to.space().transform(pairs_of(to, from), factor, shift);
}

void fill(const Array& array, double value) { assign(array, array, 0, value); }

Array copy(const Array& array) {
  Array dense(array.space(), array.dtype(), array.shape());
  assign(dense, array);
  return dense;
}

std::optional<Difference> compare(const Array& got, const Array& want) {
  if (got.size() == 0 && want.size() == 0) return std::nullopt;
  const auto found = got.space().compare(pairs_of(got, want));
  if (found.count == 0) return std::nullopt;
  return Difference{found.count, found.first, got.get(found.first), want.get(found.first)};
}

}  // namespace gdr2
