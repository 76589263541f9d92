// SPDX-License-Identifier: Apache-2.0
// The chunk form under one contract, declaring another: a kernel that silently downgrades a site. With
// a hand in what it exports when a test wants that.
#pragma once

#include <functional>

#include "kernels/kernel.hpp"
#include "reference/emulate.hpp"

namespace gdr2 {

class DowngradedKernel : public Kernel {
 public:
  using Change = std::function<void(const Problem&, Values<double>&)>;

  DowngradedKernel(Contract declared, Contract computed, Change change = {})
      : Kernel("downgraded", "declares one contract and computes under another"),
        declared_(declared),
        computed_(computed),
        change_(std::move(change)) {}

 private:
  std::optional<std::string> do_unsupported(const Problem&) const override { return std::nullopt; }
  Contract do_contract(const Problem&) const override { return declared_; }
  std::vector<Name> do_exports(const Problem& p) const override {
    return emulated_stages(p, declared_);
  }
  void do_forward(const Problem& p, const Tensors& in, Tensors& out) const override {
    auto forward = p;
    forward.backward = false;
    fill(forward, in, out);
  }
  void do_backward(const Problem& p, const Tensors& in, Tensors& out) const override {
    fill(p, in, out);
  }

  void fill(const Problem& p, const Tensors& in, Tensors& out) const {
    std::vector<Name> stages;
    for (const auto& [name, tensor] : out)
      if (is_stage(name)) stages.push_back(name);
    auto values = emulate(p, to_values<double>(in), computed_, RoundingMode::kNearest, 0, stages);
    if (change_) change_(p, values);
    for (auto& [name, tensor] : out) tensor.assign(values.at(name));
  }

  Contract declared_, computed_;
  Change change_;
};

}  // namespace gdr2
