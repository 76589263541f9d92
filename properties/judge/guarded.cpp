// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/guarded.hpp"

#include <algorithm>
#include <cstring>

#include "reference/error.hpp"
#include "reference/error_stats.hpp"

namespace gdr2 {
namespace {

constexpr std::size_t kGuard = 256;  // bytes on either side of an output
constexpr std::byte kPoisons[2] = {std::byte{0xFF}, std::byte{0x5A}};  // NaN; large and finite

Tensors poisoned(const Problem& problem, const std::vector<Name>& names, std::byte poison) {
  Tensors tensors;
  for (auto name : names) {
    const auto shape = shape_of(problem, name);
    const auto dtype = dtype_of(problem, name);
    const auto width = size_of(dtype);
    auto storage = std::make_shared<std::vector<std::byte>>(
        element_count(shape) * width + 2 * kGuard, poison);
    tensors[name] = Tensor(dtype, shape, dense_strides(shape), storage, kGuard / width);
  }
  return tensors;
}

bool guards_intact(const Tensor& tensor, std::byte poison) {
  const auto& bytes = *tensor.storage();
  const auto is_poison = [&](std::byte b) { return b == poison; };
  return std::all_of(bytes.begin(), bytes.begin() + kGuard, is_poison) &&
         std::all_of(bytes.end() - kGuard, bytes.end(), is_poison);
}

/// Row-major index of the first element whose bits differ.
std::optional<std::int64_t> first_difference(const Tensor& a, const Tensor& b) {
  const auto width = size_of(a.dtype());
  for (std::int64_t i = 0; i < a.size(); ++i)
    if (std::memcmp(a.data() + i * width, b.data() + i * width, width)) return i;
  return std::nullopt;
}

bool is_filled_with(const Tensor& tensor, std::int64_t index, std::byte poison) {
  const auto width = size_of(tensor.dtype());
  const auto* first = tensor.data() + index * width;
  return std::all_of(first, first + width, [&](std::byte b) { return b == poison; });
}

using Bytes = std::map<Name, std::vector<std::byte>>;

Bytes snapshot(const Tensors& tensors) {
  Bytes bytes;
  for (const auto& [name, tensor] : tensors) bytes[name] = *tensor.storage();
  return bytes;
}

Tensors run_once(const Kernel& kernel, const Problem& problem, const Tensors& inputs,
                 std::byte poison, const std::vector<Name>& stages) {
  std::vector<Name> of_forward, of_backward;
  for (auto name : stages) (is_backward_stage(name) ? of_backward : of_forward).push_back(name);
  // Stages are always NaN before: a second pattern has no second run to be compared with.
  auto results = poisoned(problem, of_forward, kPoisons[0]);
  results.merge(poisoned(problem, output_names(problem), poison));
  kernel.forward(problem, inputs, results);
  if (problem.backward) {
    auto gradients = poisoned(problem, of_backward, kPoisons[0]);
    gradients.merge(poisoned(problem, kernel.given_gradients(problem), poison));
    kernel.backward(problem, inputs, gradients);
    results.merge(gradients);
  }
  return results;
}

std::optional<std::string> compare_runs(const Problem& problem, const Tensors& a,
                                        const Tensors& b) {
  for (const auto& [name, x] : a) {
    const auto& y = b.at(name);
    const auto i = first_difference(x, y);
    if (!i) continue;
    const auto where = element_name(problem, name, *i);
    if (is_filled_with(x, *i, kPoisons[0]) && is_filled_with(y, *i, kPoisons[1]))
      return fmt::format("{}: element {} was not written", to_string(name), where);
    return fmt::format("{}: element {} differs between two runs: {:a} and {:a}", to_string(name),
                       where, x.get(*i), y.get(*i));
  }
  return std::nullopt;
}

}  // namespace

GuardedRun run_guarded(const Kernel& kernel, const Problem& problem, const Tensors& inputs,
                       const std::vector<Name>& stages) {
  const auto before = snapshot(inputs);
  const auto first = run_once(kernel, problem, inputs, kPoisons[0], {});
  const auto second = run_once(kernel, problem, inputs, kPoisons[1], stages);
  GuardedRun run{first, std::nullopt};
  for (auto name : stages) run.results[name] = second.at(name);
  for (const auto& [name, bytes] : before)
    if (bytes != *inputs.at(name).storage()) {
      run.fault = fmt::format("{}: the kernel wrote to an input", to_string(name));
      return run;
    }
  for (const auto& [name, tensor] : second)
    if (!guards_intact(tensor, is_stage(name) ? kPoisons[0] : kPoisons[1]) ||
        (first.contains(name) && !guards_intact(first.at(name), kPoisons[0]))) {
      run.fault = fmt::format("{}: the kernel wrote outside the tensor", to_string(name));
      return run;
    }
  run.fault = compare_runs(problem, first, second);
  return run;
}

}  // namespace gdr2
