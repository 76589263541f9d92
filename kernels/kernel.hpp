// SPDX-License-Identifier: Apache-2.0
// A kernel under test. It fills tensors that the caller has allocated (and poisoned), and it
// declares which problems it supports and under which precision contract it computes.
// A kernel never sees the reference, an envelope or a verdict.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reference/contract.hpp"
#include "reference/problem.hpp"

namespace gdr2 {

class Kernel {
 public:
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }

  /// Why the kernel does not take the problem; nullopt when it does.
  std::optional<std::string> unsupported(const Problem& problem) const {
    return do_unsupported(problem);
  }
  Contract contract(const Problem& problem) const { return do_contract(problem); }

  /// Stages that the kernel can export for the problem; mostly none. Its states (H, and dH with a
  /// backward) let every chunk be judged by itself.
  std::vector<Name> exports(const Problem& problem) const { return do_exports(problem); }

  /// Fills the tensors of output_names(problem), and the stages of the forward, that `outputs` holds,
  /// from the tensors of input_names(problem). Throws on failure; never writes an input.
  void forward(const Problem& problem, const Tensors& inputs, Tensors& outputs) const {
    do_forward(problem, inputs, outputs);
  }
  /// Fills the tensors of gradient_names(problem), and the stages of the backward, that `gradients`
  /// holds.
  void backward(const Problem& problem, const Tensors& inputs, Tensors& gradients) const {
    do_backward(problem, inputs, gradients);
  }

 protected:
  Kernel(std::string name, std::string description)
      : name_(std::move(name)), description_(std::move(description)) {}

 private:
  virtual std::optional<std::string> do_unsupported(const Problem& problem) const = 0;
  virtual Contract do_contract(const Problem& problem) const = 0;
  virtual std::vector<Name> do_exports(const Problem&) const { return {}; }
  virtual void do_forward(const Problem&, const Tensors& inputs, Tensors& outputs) const = 0;
  virtual void do_backward(const Problem&, const Tensors& inputs, Tensors& gradients) const = 0;

  std::string name_, description_;
};

/// The kernels built into this binary, and lookup by name or by the path of a kernel library
/// (kernels/plugin/plugin.hpp). find_kernel throws Error listing them.
const std::vector<std::unique_ptr<Kernel>>& kernels();
const Kernel& find_kernel(const std::string& name);

}  // namespace gdr2
