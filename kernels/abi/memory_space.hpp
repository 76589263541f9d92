// SPDX-License-Identifier: Apache-2.0
// Where a kernel library's pointers live: host memory or a CUDA device. A table of functions rather
// than a class hierarchy, since there are two and a kernel is handed raw pointers anyway. Every
// function throws Error when the runtime refuses.
#pragma once

#include <cstddef>
#include <utility>

#include "kernels/abi/gdr2_kernel.h"
#include "kernels/resident/elements.hpp"

namespace gdr2 {

struct MemorySpace {
  void* (*allocate)(std::size_t bytes);
  void (*release)(void* pointer) noexcept;
  void (*upload)(void* to, const void* from_host, std::size_t bytes);
  void (*download)(void* to_host, const void* from, std::size_t bytes);
  void (*copy)(void* to, const void* from, std::size_t bytes);        ///< within the space
  void (*fill)(void* to, std::byte pattern, std::size_t bytes);
  void (*synchronize)();
  /// a = factor * b + shift, and the pairs that differ (kernels/resident/elementwise.hpp).
  void (*transform)(const ElementPairs& pairs, double factor, double shift);
  Mismatches (*compare)(const ElementPairs& pairs);
};

/// Throws Error for CUDA in a build without it, or when no device answers.
const MemorySpace& memory_space(gdr2_memory memory);

/// Why `memory_space` would throw; empty when it would not.
const char* why_unavailable(gdr2_memory memory);

/// Owned memory of a space.
class SpaceBuffer {
 public:
  SpaceBuffer(const MemorySpace& space, std::size_t bytes)
      : space_(&space), pointer_(bytes ? space.allocate(bytes) : nullptr) {}
  ~SpaceBuffer() {
    if (pointer_) space_->release(pointer_);
  }
  SpaceBuffer(SpaceBuffer&& other) noexcept
      : space_(other.space_), pointer_(std::exchange(other.pointer_, nullptr)) {}
  SpaceBuffer& operator=(SpaceBuffer&&) = delete;

  std::byte* get() const { return static_cast<std::byte*>(pointer_); }

 private:
  const MemorySpace* space_;
  void* pointer_;
};

}  // namespace gdr2
