// SPDX-License-Identifier: Apache-2.0
// Tensors in memory that two processes share: a file in memory that begins as a safetensors file. A dense tensor stands there under its name; a storage with gaps,
// guard bands or several views stands there as bytes. Whole storages travel both ways, so that a stray
// write of the other process comes back with the results.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/process/protocol.hpp"

namespace gdr2 {

/// A file in memory, owned; it only grows, and no other process can shrink it.
class SharedFile {
 public:
  SharedFile();
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  int descriptor() const { return descriptor_; }

  /// Lays the storages of the tensors out and copies them in. Returns, by name, where each tensor
  /// stands: {"dtype", "shape", "strides" (elements), "at" (byte in the file), "storage": [begin, end]}.
  protocol::Json put(const std::vector<const Tensors*>& groups);

  /// Copies every storage of the last put back, as the other process left it.
  void get_back() const;

 private:
  void grow(std::size_t bytes);

  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::map<std::vector<std::byte>*, std::size_t> begin_of_;
};

/// The other side: the file mapped, its tensors copied into this process, and written back whole.
class MappedTensors {
 public:
  /// Throws Error when the descriptions do not fit the file.
  explicit MappedTensors(const std::string& path);
  ~MappedTensors();
  MappedTensors(const MappedTensors&) = delete;
  MappedTensors& operator=(const MappedTensors&) = delete;

  Tensors tensors(const protocol::Json& descriptions);
  void write_back() const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  /// By first byte and last: empty ones share a first byte with others.
  std::map<std::pair<std::size_t, std::size_t>, std::shared_ptr<std::vector<std::byte>>> storages_;
};

}  // namespace gdr2
