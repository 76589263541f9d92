// SPDX-License-Identifier: Apache-2.0
#include "kernels/abi/decode_padding.hpp"

#include <bit>
#include <limits>

#include "kernels/fault.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

/// [B + 2, ...] with rows 1 .. B from x.
Tensor with_outer_rows(const Tensor& x, std::int64_t B) {
  auto shape = x.shape();
  shape[0] = B + 2;
  Tensor y(x.dtype(), shape);
  const auto row = x.size() / B;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const auto at = i - row;
    y.set(i, at >= 0 && at < x.size() ? x.get(at) : std::numeric_limits<double>::quiet_NaN());
  }
  return y;
}

[[noreturn]] void wrong(const std::string& what) {
  throw KernelFault(KernelFault::Kind::kWrong, what);
}

}  // namespace

PaddedRows between_padding(const Problem& problem, const Tensors& inputs,
                           const std::vector<std::int32_t>& slots) {
  PaddedRows rows{problem, {}, {}, slots};
  rows.problem.B += 2;
  rows.problem.view = View::kDense;
  rows.slots.insert(rows.slots.begin(), -1);
  rows.slots.push_back(std::numeric_limits<std::int32_t>::min());
  for (const auto& [name, tensor] : inputs) {
    if (name != Name::h0)
      rows.inputs[name] = is_parameter(name) ? tensor : with_outer_rows(tensor, problem.B);
  }
  rows.outputs = allocated(rows.problem, {Name::o}, std::byte{0xFF});
  return rows;
}

void check_between_padding(const PaddedRows& rows, const Tensors& alone) {
  const auto& o = rows.outputs.at(Name::o);
  const auto& want = alone.at(Name::o);
  const auto row = o.size() / rows.problem.B;
  for (std::int64_t i = 0; i < o.size(); ++i) {
    const auto n = i / row;
    const bool padding = rows.slots[n] < 0;
    if (padding && !(o.get(i) == 0))
      wrong(fmt::format(
          "decode: o of row {} is {} at element {}; the row is padding (slot {}), its o is zero", n,
          o.get(i), i % row, rows.slots[n]));
    const auto j = i - row;
    if (!padding &&
        std::bit_cast<std::uint64_t>(o.get(i)) != std::bit_cast<std::uint64_t>(want.get(j)))
      wrong(fmt::format(
          "decode: o of row {} is {:a} at element {} beside a row of padding, and {:a} without", n,
          o.get(i), i % row, want.get(j)));
  }
}

}  // namespace gdr2
