// SPDX-License-Identifier: Apache-2.0
#include "kernels/abi/marshal.hpp"

#include <algorithm>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

std::vector<std::int64_t> sequence_offsets(const Problem& problem) {
  if (problem.lens.empty()) return {};
  std::vector<std::int64_t> offsets{0};
  for (auto length : problem.lens) offsets.push_back(offsets.back() + length);
  return offsets;
}

}  // namespace

SpaceBuffer make_poisoned(const MemorySpace& space, std::size_t bytes) {
  SpaceBuffer buffer(space, bytes);
  if (bytes) space.fill(buffer.get(), std::byte{0xFF}, bytes);
  return buffer;
}

gdr2_tensor described(const Array& array) {
  gdr2_tensor out{};
  out.data = array.data();
  out.dtype = std::int32_t(array.dtype());
  std::copy_backward(array.strides().begin(), array.strides().end(), out.stride + 4);
  return out;
}

gdr2_tensor Mirror::add(const Tensor& tensor) {
  auto* storage = tensor.storage().get();
  auto found = copies_.find(storage);
  if (found == copies_.end()) {
    found = copies_.emplace(storage, SpaceBuffer(space_, storage->size())).first;
    if (!storage->empty()) space_.upload(found->second.get(), storage->data(), storage->size());
  }
  gdr2_tensor out{};
  out.data = found->second.get() + tensor.offset() * std::ptrdiff_t(size_of(tensor.dtype()));
  out.dtype = std::int32_t(tensor.dtype());
  std::copy_backward(tensor.strides().begin(), tensor.strides().end(), out.stride + 4);
  return out;
}

void Mirror::download() const {
  for (const auto& [storage, copy] : copies_)
    if (!storage->empty()) space_.download(storage->data(), copy.get(), storage->size());
}

Describe mirroring(Mirror& mirror, const Tensors& tensors) {
  return [&](Name name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? gdr2_tensor{} : mirror.add(found->second);
  };
}

Describe in_place(const Arrays& arrays) {
  return [&](Name name) {
    const auto found = arrays.find(name);
    return found == arrays.end() ? gdr2_tensor{} : described(found->second);
  };
}

AbiProblem::AbiProblem(const Problem& p, const MemorySpace& space)
    : offsets_(sequence_offsets(p)),
      device_offsets_(space, offsets_.size() * sizeof(std::int64_t)),
      problem_{} {
  problem_.struct_size = sizeof problem_;
  problem_.dtype = std::int32_t(p.storage());
  problem_.g_dtype = std::int32_t(p.g_dtype);
  problem_.products = std::int32_t(p.dtype);
  problem_.B = p.B, problem_.T = p.T, problem_.N = p.N();
  problem_.H = p.H, problem_.HV = p.HV, problem_.K = p.K, problem_.V = p.V;
  problem_.scale = p.scale_value();
  problem_.gate = std::int32_t(p.gate);
  problem_.state_layout = std::int32_t(p.layout);
  problem_.l2norm = p.l2norm;
  problem_.neg_eigval = p.neg_eigval;
  problem_.lower_bound = p.lower_bound;
  problem_.l2norm_eps = kL2NormEpsilon;
  if (offsets_.empty()) return;
  space.upload(device_offsets_.get(), offsets_.data(), offsets_.size() * sizeof(std::int64_t));
  problem_.cu_seqlens = reinterpret_cast<const std::int64_t*>(device_offsets_.get());
  problem_.cu_seqlens_host = offsets_.data();
}

Contract contract_of(const gdr2_contract& c) {
  return {Format(c.operand), Format(c.auxiliary),   Format(c.solve),     Format(c.state),
          Format(c.gate),    Format(c.accumulator), Format(c.normalized),
          std::clamp(c.direct_rows, 0, 64)};
}

}  // namespace gdr2
