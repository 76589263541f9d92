// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/emulated_kernel.hpp"

#include "reference/emulate.hpp"

namespace gdr2 {
namespace {

enum class Form { kToken, kChunk };

class EmulatedKernel : public Kernel {
 public:
  EmulatedKernel(Form form, std::string name, std::string description)
      : Kernel(std::move(name), std::move(description)), form_(form) {}

 private:
  std::optional<std::string> do_unsupported(const Problem&) const override { return std::nullopt; }

  Contract do_contract(const Problem& problem) const override {
    if (form_ == Form::kChunk) return standard_contract(problem.dtype);
    return token_contract(problem.dtype == Format::kF64 ? Format::kF64 : Format::kF32);
  }

  void do_forward(const Problem& problem, const Tensors& inputs, Tensors& outputs) const override {
    auto forward = problem;
    forward.backward = false;
    fill(forward, inputs, outputs);
  }

  void do_backward(const Problem& problem, const Tensors& inputs,
                   Tensors& gradients) const override {
    fill(problem, inputs, gradients);
  }

  void fill(const Problem& problem, const Tensors& inputs, Tensors& results) const {
    std::vector<Name> stages;
    for (const auto& [name, tensor] : results)
      if (is_stage(name)) stages.push_back(name);
    const auto values = emulate(problem, to_values<double>(inputs), contract(problem),
                                RoundingMode::kNearest, 0, stages);
    for (auto& [name, tensor] : results) tensor.assign(values.at(name));
  }

  std::vector<Name> do_exports(const Problem& problem) const override {
    return emulated_stages(problem, contract(problem));
  }

  Form form_;
};

}  // namespace

std::unique_ptr<Kernel> make_cpu_chunk_kernel() {
  return std::make_unique<EmulatedKernel>(
      Form::kChunk, "cpu.chunk", "chunk form on the CPU, rounding at every site of its contract");
}

std::unique_ptr<Kernel> make_cpu_recurrent_kernel() {
  return std::make_unique<EmulatedKernel>(Form::kToken, "cpu.recurrent",
                                          "token recurrence on the CPU, fp32 throughout");
}

}  // namespace gdr2
