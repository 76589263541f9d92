// SPDX-License-Identifier: Apache-2.0
#include "properties/laws/law_run.hpp"

namespace gdr2::laws {
namespace {

constexpr std::byte kUnwritten{0xFF};

Index index_of(const Shape& shape, std::int64_t i) {
  Index index{};
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = i % shape[d];
    i /= shape[d];
  }
  return index;
}

/// Consecutive rows of `from`'s leading axis (of `row` elements each) appended to values.
void append(const std::vector<double>& from, std::int64_t row, Sequence rows,
            std::vector<double>& values) {
  values.insert(values.end(), from.begin() + rows.begin * row, from.begin() + rows.end * row);
}

}  // namespace

Tensors run(const Kernel& kernel, const Call& call) {
  if (const auto reason = kernel.unsupported(call.problem)) throw Unsupported(*reason);
  auto results = allocated(call.problem, output_names(call.problem), kUnwritten);
  kernel.forward(call.problem, call.inputs, results);
  if (call.problem.backward) {
    auto gradients = allocated(call.problem, kernel.given_gradients(call.problem), kUnwritten);
    kernel.backward(call.problem, call.inputs, gradients);
    results.merge(gradients);
  }
  return results;
}

Tensor changed(const Tensor& tensor, const Change& change) {
  auto copy = tensor.clone();
  for (std::int64_t i = 0; i < copy.size(); ++i)
    copy.set(i, change(index_of(copy.shape(), i), copy.get(i)));
  return copy;
}

Sequence sequence_of(const Problem& problem, std::int64_t n) { return problem.sequences()[n]; }

Problem select(const Problem& problem, const std::vector<std::int64_t>& order) {
  auto selected = problem;
  if (problem.lens.empty()) {
    selected.B = std::int64_t(order.size());
    return selected;
  }
  selected.lens.clear();
  selected.T = 0;
  for (auto n : order) selected.lens.push_back(problem.lens[n]), selected.T += problem.lens[n];
  return selected;
}

Call select(const Call& call, const std::vector<std::int64_t>& order) {
  const auto& p = call.problem;
  Call out{select(p, order), {}};
  for (const auto& [name, tensor] : call.inputs) {
    if (is_parameter(name)) {
      out.inputs[name] = tensor;
      continue;
    }
    const auto from = tensor.to_doubles();
    const auto rows = is_state(name) ? p.N() : p.B * p.T;
    const auto row = rows ? std::int64_t(from.size()) / rows : 0;
    std::vector<double> values;
    for (auto n : order)
      append(from, row, is_state(name) ? Sequence{n, n + 1} : sequence_of(p, n), values);
    out.inputs[name] = Tensor(tensor.dtype(), shape_of(out.problem, name));
    out.inputs[name].assign(values);
  }
  return out;
}

}  // namespace gdr2::laws
