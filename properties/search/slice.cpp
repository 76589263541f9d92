// SPDX-License-Identifier: Apache-2.0
#include "properties/search/slice.hpp"

namespace gdr2::search {
namespace {

using laws::Call;

/// The chosen indices of one axis.
Tensor chosen(const Tensor& tensor, std::size_t axis, const Indices& indices) {
  auto shape = tensor.shape();
  std::int64_t inner = 1;
  for (auto d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  const auto before = shape[axis], after = std::int64_t(indices.size());
  shape[axis] = after;
  Tensor out(tensor.dtype(), shape);
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const auto outer = i / inner / after, at = indices[i / inner % after];
    out.set(i, tensor.get((outer * before + at) * inner + i % inner));
  }
  return out;
}

/// Every input with the indices of the axis that `axis_of` names; -1: it has no such axis.
template <class AxisOf>
void choose(Call& call, const Indices& indices, const AxisOf& axis_of) {
  for (auto& [name, tensor] : call.inputs)
    if (const int axis = axis_of(name); axis >= 0) tensor = chosen(tensor, axis, indices);
}

bool has_tokens(Name name) { return !is_state(name) && !is_parameter(name); }

}  // namespace

Indices all_but(std::int64_t n, std::int64_t begin, std::int64_t end) {
  Indices kept;
  for (std::int64_t i = 0; i < n; ++i)
    if (i < begin || i >= end) kept.push_back(i);
  return kept;
}

Call without_tokens(const Call& call, std::int64_t n, std::int64_t begin, std::int64_t end) {
  auto out = call;
  auto& p = out.problem;
  const auto first = p.lens.empty() ? 0 : p.sequences()[n].begin;
  choose(out, all_but(p.T, first + begin, first + end),
         [](Name name) { return has_tokens(name) ? 1 : -1; });
  p.T -= end - begin;
  if (!p.lens.empty()) p.lens[n] -= end - begin;
  return out;
}

Call with_key_heads(const Call& call, const Indices& heads) {
  auto out = call;
  auto& p = out.problem;
  Indices values;
  for (const auto h : heads)
    for (std::int64_t i = 0; i < p.group(); ++i) values.push_back(h * p.group() + i);
  choose(out, heads, [](Name name) {
    if (is_parameter(name)) return 0;
    return is_key_side(name) ? 2 : -1;
  });
  choose(out, values, [](Name name) {
    if (is_state(name)) return 1;
    return is_value_side(name) ? 2 : -1;
  });
  p.H = std::int64_t(heads.size());
  p.HV = std::int64_t(values.size());
  return out;
}

Call with_value_head(const Call& call, std::int64_t which) {
  auto out = call;
  auto& p = out.problem;
  Indices values;
  for (std::int64_t h = 0; h < p.H; ++h) values.push_back(h * p.group() + which);
  choose(out, values, [](Name name) {
    if (is_state(name)) return 1;
    return is_value_side(name) ? 2 : -1;
  });
  p.HV = p.H;
  return out;
}

Call with_key_channels(const Call& call, const Indices& channels) {
  auto out = call;
  const bool kv = out.problem.layout == StateLayout::kKV;
  choose(out, channels, [&](Name name) {
    if (is_state(name)) return kv ? 2 : 3;
    if (is_parameter(name)) return name == Name::dt_bias ? 1 : -1;
    return is_key_side(name) ? 3 : -1;
  });
  out.problem.K = std::int64_t(channels.size());
  return out;
}

Call with_value_channels(const Call& call, const Indices& channels) {
  auto out = call;
  const bool kv = out.problem.layout == StateLayout::kKV;
  choose(out, channels, [&](Name name) {
    if (is_state(name)) return kv ? 3 : 2;
    return is_value_side(name) ? 3 : -1;
  });
  out.problem.V = std::int64_t(channels.size());
  return out;
}

}  // namespace gdr2::search
