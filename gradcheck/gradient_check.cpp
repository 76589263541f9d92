// SPDX-License-Identifier: Apache-2.0
#include "gradcheck/gradient_check.hpp"

#include "gradcheck/derivative.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

TensorVerdict compare(const Problem& problem, Name name, const Tensor& gradient,
                      const std::vector<double>& wanted, const std::vector<double>& sigma,
                      double allowed) {
  TensorVerdict tensor{
      measure(problem, name, gradient.dtype(), gradient.to_doubles(), wanted, sigma)};
  const auto& stats = tensor.stats;
  if (stats.all_finite() && stats.max_z <= allowed) return tensor;
  const auto& worst = stats.worst.front();
  tensor.state = State::kFailed;
  tensor.reason = fmt::format(
      "gradient of {} at {}: value {:.9g}, dual numbers give {:.9g}: z = {:.3g}, allowed {:g}",
      to_string(input_of(name)), worst.where, worst.value, worst.reference, worst.z, allowed);
  return tensor;
}

}  // namespace

Values<double> dual_gradients(const Problem& problem, const Tensors& inputs) {
  const auto x = to_values<double>(inputs);
  const auto dout = as_outputs(x);
  auto wanting = problem;  // ht takes part in the loss whether or not it is asked for
  wanting.ht = true;
  Values<double> gradients;
  for (const auto name : gradient_names(problem)) {
    const auto& input = x.at(input_of(name));
    auto& gradient = gradients[name];
    Values<double> unit{{input_of(name), std::vector<double>(input.size())}};
    auto& e = unit.begin()->second;
    for (std::size_t i = 0; i < input.size(); ++i) {
      e[i] = 1;
      gradient.push_back(inner(jvp(wanting, x, unit), dout));
      e[i] = 0;
    }
  }
  return gradients;
}

Tensors run_backward_of(const Kernel& kernel, const Problem& problem, const Tensors& inputs) {
  auto gradients = allocated(problem, kernel.given_gradients(problem), std::byte{0xFF});
  kernel.backward(problem, inputs, gradients);
  return gradients;
}

Verdict compare_gradients(const Problem& problem, const Tensors& gradients,
                          const Values<double>& wanted, const Values<double>& sigma,
                          double allowed) {
  Verdict verdict;
  for (const auto& [name, gradient] : gradients) {
    auto tensor = compare(problem, name, gradient, wanted.at(name), sigma.at(name), allowed);
    if (tensor.state != State::kPassed && verdict.state == State::kPassed)
      verdict.state = tensor.state, verdict.leg = "gradcheck", verdict.reason = tensor.reason;
    verdict.tensors.push_back(std::move(tensor));
  }
  return verdict;
}

}  // namespace gdr2
