// SPDX-License-Identifier: Apache-2.0
// Cuts one buffer into arrays. The same code that places the arrays of a pass also computes its
// size: a Workspace over nullptr only counts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gdr2::cuda {

class Workspace {
 public:
  explicit Workspace(void* base) : base_(static_cast<unsigned char*>(base)) {}

  // `count` elements, 256-byte aligned; nullptr when counting.
  template <class T>
  T* take(int64_t count) {
    const uint64_t offset = bytes_;
    bytes_ += (static_cast<uint64_t>(count) * sizeof(T) + 255) / 256 * 256;
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + offset);
  }

  uint64_t bytes() const { return bytes_; }

 private:
  unsigned char* base_;
  uint64_t bytes_ = 0;
};

}  // namespace gdr2::cuda
