// SPDX-License-Identifier: Apache-2.0
#include "properties/power/channel_order.hpp"

#include <numeric>

#include "fixtures/random.hpp"

namespace gdr2 {
namespace {

using Permutation = std::vector<std::int64_t>;

Permutation permutation(Label label, int order, std::int64_t n) {
  Permutation p(n);
  std::iota(p.begin(), p.end(), 0);
  const Random random{static_cast<std::uint64_t>(order)};
  for (auto i = n; i-- > 1;) std::swap(p[i], p[random.below(label, i, i + 1)]);
  return p;
}

Permutation inverse(const Permutation& p) {
  Permutation q(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) q[p[i]] = std::int64_t(i);
  return q;
}

/// y[.., r, c] = x[.., rows[r], columns[c]] over the last two axes.
Tensor gathered(const Tensor& x, const Permutation& rows, const Permutation& columns) {
  auto y = x.clone();
  const auto m = std::int64_t(rows.size()), n = std::int64_t(columns.size());
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const auto block = i / (m * n) * (m * n);
    y.set(i, x.get(block + rows[i / n % m] * n + columns[i % n]));
  }
  return y;
}

Permutation identity(std::int64_t n) {
  Permutation p(n);
  std::iota(p.begin(), p.end(), 0);
  return p;
}

/// Every tensor with its key channels and its value channels permuted.
Tensors gathered(const Problem& p, const Tensors& tensors, const Permutation& keys,
                 const Permutation& values) {
  Tensors out;
  for (const auto& [name, tensor] : tensors) {
    const auto& shape = tensor.shape();
    if (shape.size() == 1) {
      out[name] = tensor;  // A_log, dA_log
    } else if (is_state(name)) {
      out[name] = p.layout == StateLayout::kKV ? gathered(tensor, keys, values)
                                               : gathered(tensor, values, keys);
    } else {
      const auto rows = identity(shape[shape.size() - 2]);
      out[name] = gathered(tensor, rows, is_value_side(name) ? values : keys);
    }
  }
  return out;
}

}  // namespace

Tensors run_in_order(const Kernel& kernel, const laws::Call& call, int order) {
  if (order == 0) return laws::run(kernel, call);
  const auto keys = permutation("keys", order, call.problem.K);
  const auto values = permutation("values", order, call.problem.V);
  const auto results =
      laws::run(kernel, {call.problem, gathered(call.problem, call.inputs, keys, values)});
  return gathered(call.problem, results, inverse(keys), inverse(values));
}

}  // namespace gdr2
