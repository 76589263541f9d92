// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "kernels/kernel.hpp"
#include "kernels/resident/array.hpp"

namespace gdr2 {
namespace {

Tensors as_tensors(const Arrays& arrays) {
  Tensors tensors;
  for (const auto& [name, array] : arrays) tensors[name] = array.as_tensor();
  return tensors;
}

}  // namespace

const MemorySpace& Kernel::do_memory() const { return memory_space(GDR2_HOST); }

void Kernel::do_forward_in_place(const Problem& problem, const Arrays& inputs, const Arrays& outputs) const {
  auto tensors = as_tensors(outputs);
  forward(problem, as_tensors(inputs), tensors);
}

void Kernel::do_backward_in_place(const Problem& problem, const Arrays& inputs, const Arrays& gradients) const {
  auto tensors = as_tensors(gradients);
  backward(problem, as_tensors(inputs), tensors);
}

std::vector<Name> Kernel::given_gradients(const Problem& problem) const {
  auto names = gradient_names(problem);
  const auto without = omitted(problem);
  std::erase_if(names, [&](Name name) { return std::ranges::find(without, name) != without.end(); });
  return names;
}

TimedCall Kernel::do_prepare_timing(const Problem& problem, const Tensors& inputs, Pass pass) const {
  TimedCall timed;
  timed.device = "host";
  timed.run = [this, problem, inputs, pass](int repetitions) {
    auto outputs = allocated(problem, output_names(problem));
    auto gradients = allocated(problem, gradient_names(problem));
    std::vector<double> ms;
    for (int i = 0; i < repetitions; ++i) {
      const auto start = std::chrono::steady_clock::now();
      forward(problem, inputs, outputs);
      if (pass == Pass::kForwardBackward) backward(problem, inputs, gradients);
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
      ms.push_back(took.count());
    }
    return ms;
  };
  return timed;
}

}  // namespace gdr2
