// SPDX-License-Identifier: Apache-2.0
#include "kernels/process/shared_tensors.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

using protocol::Json;

constexpr std::size_t kHeaderAlignment = 256;

/// A storage and the tensors in it.
struct Piece {
  std::vector<std::byte>* storage;
  std::string name;  ///< "q", or "q+k+v"
  const Tensor* tensor;
  bool whole = true;  ///< one dense tensor that fills the storage
};

const char* safetensors_name(DType dtype) {
  switch (dtype) {
    case DType::kF64: return "F64";
    case DType::kF32: return "F32";
    case DType::kBF16: return "BF16";
    case DType::kF16: break;
  }
  return "F16";
}

std::vector<Piece> pieces_of(const std::vector<const Tensors*>& groups) {
  std::vector<Piece> pieces;
  for (const auto* tensors : groups)
    for (const auto& [name, tensor] : *tensors) {
      auto* storage = tensor.storage().get();
      const auto found = std::ranges::find(pieces, storage, &Piece::storage);
      if (found != pieces.end()) {
        found->name += fmt::format("+{}", to_string(name));
        found->whole = false;
        continue;
      }
      const auto bytes = std::size_t(tensor.size()) * size_of(tensor.dtype());
      pieces.push_back({storage, std::string(to_string(name)), &tensor,
                        tensor.is_dense() && tensor.offset() == 0 && bytes == storage->size()});
    }
  // Widest elements first, so that each stands aligned to its elements without gaps.
  std::ranges::stable_sort(pieces, [](const Piece& a, const Piece& b) {
    return size_of(a.tensor->dtype()) > size_of(b.tensor->dtype());
  });
  return pieces;
}

std::string header_of(const std::vector<Piece>& pieces) {
  Json header = Json::object();
  std::size_t begin = 0;
  for (const auto& piece : pieces) {
    const auto end = begin + piece.storage->size();
    header[piece.name] = {
        {"dtype", piece.whole ? safetensors_name(piece.tensor->dtype()) : "U8"},
        {"shape", piece.whole ? Json(piece.tensor->shape()) : Json{piece.storage->size()}},
        {"data_offsets", {begin, end}}};
    begin = end;
  }
  auto text = header.dump();
  const auto length = sizeof(std::uint64_t) + text.size();
  text.resize(text.size() + (kHeaderAlignment - length % kHeaderAlignment) % kHeaderAlignment, ' ');
  return text;
}

}  // namespace

SharedFile::SharedFile()
    : descriptor_(memfd_create("gdr2-tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (descriptor_ < 0) fail("shared memory: {}", std::strerror(errno));
  // A worker that shortens the file would take this process down with a bus error.
  if (fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
    fail("shared memory: sealing: {}", std::strerror(errno));
}

SharedFile::~SharedFile() {
  if (data_) munmap(data_, size_);
  if (descriptor_ >= 0) close(descriptor_);
}

void SharedFile::grow(std::size_t bytes) {
  if (bytes <= size_) return;
  if (ftruncate(descriptor_, off_t(bytes)) != 0)
    fail("shared memory: {} bytes: {}", bytes, std::strerror(errno));
  if (data_) munmap(data_, size_);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  data_ = mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
  size_ = data_ ? bytes : 0;
  if (!data_) fail("shared memory: {} bytes: {}", bytes, std::strerror(errno));
}

Json SharedFile::put(const std::vector<const Tensors*>& groups) {
  const auto pieces = pieces_of(groups);
  const auto header = header_of(pieces);
  const std::uint64_t header_size = header.size();
  std::size_t end = sizeof header_size + header.size();
  begin_of_.clear();
  for (const auto& piece : pieces) {
    begin_of_[piece.storage] = end;
    end += piece.storage->size();
  }
  grow(end);
  std::memcpy(data_, &header_size, sizeof header_size);
  std::memcpy(data_ + sizeof header_size, header.data(), header.size());
  for (const auto& [storage, begin] : begin_of_) std::ranges::copy(*storage, data_ + begin);

  Json descriptions = Json::object();
  for (const auto* tensors : groups)
    for (const auto& [name, tensor] : *tensors) {
      const auto begin = begin_of_.at(tensor.storage().get());
      descriptions[std::string(to_string(name))] = {
          {"dtype", to_string(tensor.dtype())},
          {"shape", tensor.shape()},
          {"strides", tensor.strides()},
          {"at", begin + std::size_t(tensor.offset()) * size_of(tensor.dtype())},
          {"storage", {begin, begin + tensor.storage()->size()}}};
    }
  return descriptions;
}

void SharedFile::get_back() const {
  for (const auto& [storage, begin] : begin_of_)
    std::copy_n(data_ + begin, storage->size(), storage->begin());
}

MappedTensors::MappedTensors(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat facts {};
  if (descriptor < 0 || fstat(descriptor, &facts) != 0) fail("{}: {}", path, std::strerror(errno));
  size_ = std::size_t(facts.st_size);
  void* mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (mapped == MAP_FAILED) fail("{}: {} bytes: {}", path, size_, std::strerror(errno));
  data_ = static_cast<std::byte*>(mapped);
}

MappedTensors::~MappedTensors() {
  if (data_) munmap(data_, size_);
}

Tensors MappedTensors::tensors(const Json& descriptions) {
  Tensors tensors;
  for (const auto& [text, d] : descriptions.items()) {
    const auto name = find_name(text);
    if (!name) fail("tensor '{}' is not known", text);
    const auto begin = d.at("storage").at(0).get<std::size_t>();
    const auto end = d.at("storage").at(1).get<std::size_t>(), at = d.at("at").get<std::size_t>();
    const auto shape = d.at("shape").get<Shape>();
    const bool empty =
        element_count(shape) == 0;  // a view into a storage may lie beyond its end then
    if (begin > end || end > size_ || at < begin || (at > end && !empty))
      fail("tensor '{}' is outside the file", text);
    auto& storage = storages_[{begin, end}];
    if (!storage) storage = std::make_shared<std::vector<std::byte>>(data_ + begin, data_ + end);
    const auto dtype = parse_dtype(d.at("dtype").get<std::string>(), text);
    tensors[*name] = Tensor(dtype, shape, d.at("strides").get<Shape>(), storage,
                            std::int64_t((at - begin) / size_of(dtype)));
  }
  return tensors;
}

void MappedTensors::write_back() const {
  for (const auto& [place, storage] : storages_) std::ranges::copy(*storage, data_ + place.first);
}

}  // namespace gdr2
