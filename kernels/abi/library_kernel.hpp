// SPDX-License-Identifier: Apache-2.0
// What the kernels of a library with the C interface have in common: they ask the library whether it
// takes a problem and by which contract, hand it poisoned buffers, and turn a status into an Error. Its
// entry points are abi_chunk_kernel.cpp and abi_decode_kernel.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/abi/marshal.hpp"
#include "kernels/kernel.hpp"

namespace gdr2 {

class LibraryKernel : public Kernel {
 protected:
  LibraryKernel(const gdr2_kernel* table, std::string name, std::string description);

  const gdr2_kernel& table() const { return *table_; }
  const MemorySpace& space() const { return memory_space(gdr2_memory(table_->memory)); }

  gdr2_capability query(const Problem& problem, std::int32_t pass) const;
  std::optional<std::string> refusal(const Problem& problem, std::int32_t pass) const;

  /// Arrays are to lie in the library's memory (kernels/settings.hpp).
  static bool is_resident();
  const MemorySpace& do_memory() const override;

  static void must(gdr2_status status, const char* call, const char* message);

  /// Buffers of one call.
  struct Scratch {
    SpaceBuffer workspace, saved;
    gdr2_workspace abi;
  };
  Scratch scratch(const gdr2_capability& capability, bool with_saved) const;

  static double bytes_of(const Tensors& tensors);

  /// `call` once, so that it fails here if it does, and then ready for the stopwatch.
  TimedCall timed(const std::function<void()>& call, double memory_bytes) const;

 private:
  Contract do_contract(const Problem& problem) const override;

  const gdr2_kernel* table_;
};

}  // namespace gdr2
