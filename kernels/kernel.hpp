// SPDX-License-Identifier: Apache-2.0
// A kernel under test. It fills tensors that the caller has allocated (and poisoned), and it
// declares which problems it supports and under which precision contract it computes.
// A kernel never sees the reference, an envelope or a verdict.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/fault.hpp"
#include "reference/contract.hpp"
#include "reference/problem.hpp"

namespace gdr2 {

class Array;
using Arrays = std::map<Name, Array>;
struct MemorySpace;

/// What is timed of a kernel.
enum class Pass { kForward, kForwardBackward };

/// A call that stands ready to be timed: inputs and outputs are where the kernel works on them.
struct TimedCall {
  /// Milliseconds of each of so many calls, caches cold before each. Throws as forward does.
  std::function<std::vector<double>(int repetitions)> run;
  double kernels_ms = 0;       ///< device time of the kernels of one call alone, where it is known
  double memory_bytes = 0;     ///< held beyond inputs and results, where it is known
  double copy_gb_per_s = 0;    ///< measured ceilings of the device: read + written by a copy
  double tensor_tflop_per_s = 0;  ///< and a large matrix product in the problem's dtype
  std::string device;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const std::string& name() const { return name_; }
  const std::string& description() const { return description_; }
  /// What find_kernel finds it by: its name, unless it was given a short one.
  const std::string& address() const { return address_.empty() ? name_ : address_; }

  /// Why the kernel does not take the problem; nullopt when it does.
  std::optional<std::string> unsupported(const Problem& problem) const {
    return do_unsupported(problem);
  }
  Contract contract(const Problem& problem) const { return do_contract(problem); }

  /// Stages that the kernel can export for the problem; mostly none. Its states (H, and dH with a
  /// backward) let every chunk be judged by itself.
  std::vector<Name> exports(const Problem& problem) const { return do_exports(problem); }

  /// Gradients that it does not give: those of gates that it ties, which are sums of what is asked for.
  std::vector<Name> omitted(const Problem& problem) const { return do_omitted(problem); }
  /// gradient_names(problem) without the omitted ones.
  std::vector<Name> given_gradients(const Problem& problem) const;

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

  /// Where arrays lie that the two calls below take (kernels/resident/array.hpp): the host's memory, or
  /// that of a library whose tensors are to stay there (kernels/settings.hpp).
  const MemorySpace& memory() const { return do_memory(); }
  void forward(const Problem& problem, const Arrays& inputs, const Arrays& outputs) const {
    do_forward_in_place(problem, inputs, outputs);
  }
  void backward(const Problem& problem, const Arrays& inputs, const Arrays& gradients) const {
    do_backward_in_place(problem, inputs, gradients);
  }

  /// Prepares a pass for timing; `inputs` may go once it returns. By default forward and backward
  /// as above, on the wall clock.
  TimedCall prepare_timing(const Problem& problem, const Tensors& inputs, Pass pass) const {
    return do_prepare_timing(problem, inputs, pass);
  }

 protected:
  Kernel(std::string name, std::string description, std::string address = "")
      : name_(std::move(name)), description_(std::move(description)), address_(std::move(address)) {}

  /// In host memory, as tensors, unless a kernel says otherwise.
  virtual const MemorySpace& do_memory() const;
  virtual void do_forward_in_place(const Problem&, const Arrays& inputs, const Arrays& outputs) const;
  virtual void do_backward_in_place(const Problem&, const Arrays& inputs, const Arrays& gradients) const;

 private:
  virtual std::optional<std::string> do_unsupported(const Problem& problem) const = 0;
  virtual Contract do_contract(const Problem& problem) const = 0;
  virtual std::vector<Name> do_exports(const Problem&) const { return {}; }
  virtual std::vector<Name> do_omitted(const Problem&) const { return {}; }
  virtual void do_forward(const Problem&, const Tensors& inputs, Tensors& outputs) const = 0;
  virtual void do_backward(const Problem&, const Tensors& inputs, Tensors& gradients) const = 0;
  virtual TimedCall do_prepare_timing(const Problem&, const Tensors& inputs, Pass) const;

  std::string name_, description_, address_;
};

/// The kernels built into this binary, and lookup by name, by the path of a kernel library
/// (kernels/plugin/plugin.hpp) or by the command of a process (kernels/process/process_kernel.hpp).
/// kernels/settings.hpp says in which process they run. find_kernel throws Error listing them.
const std::vector<std::unique_ptr<Kernel>>& kernels();
const Kernel& find_kernel(const std::string& name);

}  // namespace gdr2
