// SPDX-License-Identifier: Apache-2.0
// cpu.chunk with a hand in its results: what the judge must notice.
#pragma once

#include <functional>

#include "kernels/kernel.hpp"

namespace gdr2 {

class TamperedKernel : public Kernel {
 public:
  /// Called after the right results have been written: forward with the outputs, backward with the
  /// gradients. Inputs are handed over as a careless kernel would see them, writable.
  using Tamper = std::function<void(const Problem&, Tensors& inputs, Tensors& results)>;

  explicit TamperedKernel(Tamper tamper)
      : Kernel("tampered", "cpu.chunk with a fault"), tamper_(std::move(tamper)) {}

 private:
  static const Kernel& right() { return find_kernel("cpu.chunk"); }

  std::optional<std::string> do_unsupported(const Problem& p) const override {
    return right().unsupported(p);
  }
  Contract do_contract(const Problem& p) const override { return right().contract(p); }
  void do_forward(const Problem& p, const Tensors& in, Tensors& out) const override {
    right().forward(p, in, out);
    auto writable = in;
    tamper_(p, writable, out);
  }
  void do_backward(const Problem& p, const Tensors& in, Tensors& out) const override {
    right().backward(p, in, out);
    auto writable = in;
    tamper_(p, writable, out);
  }

  Tamper tamper_;
};

}  // namespace gdr2
