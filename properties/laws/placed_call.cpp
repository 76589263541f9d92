// SPDX-License-Identifier: Apache-2.0
#include "properties/laws/placed_call.hpp"

#include <mutex>

#include "properties/laws/law_run.hpp"
#include "reference/error.hpp"
#include "reference/error_stats.hpp"

namespace gdr2::laws {
namespace {

constexpr std::int64_t kLarge = 1 << 24;  // elements: to draw more than that takes a second

std::int64_t input_elements(const Problem& problem) {
  std::int64_t count = 0;
  for (const auto name : input_names(problem)) count += element_count(shape_of(problem, name));
  return count;
}

/// The last large case, as it was drawn: no kernel gets these arrays, only copies of them.
Arrays large_inputs(const MemorySpace& space, const Case& c) {
  static std::mutex mutex;
  static Case last;
  static Arrays drawn;
  const std::lock_guard lock(mutex);
  const bool is_last = last == c && !drawn.empty() && &drawn.begin()->second.space() == &space;
  if (!is_last) {
    drawn.clear();  // before there are others
    drawn = placed(space, make_inputs(c));
    last = c;
  }
  return duplicated(drawn);
}

}  // namespace

PlacedCall placed_call(const Kernel& kernel, const Case& c) {
  if (input_elements(c.problem) >= kLarge) return {c.problem, large_inputs(kernel.memory(), c)};
  return {c.problem, placed(kernel.memory(), make_inputs(c))};
}

Array make_array(const Kernel& kernel, const Problem& problem, Name name) {
  return Array(kernel.memory(), dtype_of(problem, name), shape_of(problem, name));
}

Arrays run(const Kernel& kernel, const PlacedCall& call) {
  if (const auto reason = kernel.unsupported(call.problem)) throw Unsupported(*reason);
  Arrays results;
  for (auto name : output_names(call.problem))
    results[name] = make_array(kernel, call.problem, name);
  kernel.forward(call.problem, call.inputs, results);
  if (call.problem.backward) {
    Arrays gradients;
    for (auto name : kernel.given_gradients(call.problem))
      gradients[name] = make_array(kernel, call.problem, name);
    kernel.backward(call.problem, call.inputs, gradients);
    results.merge(gradients);
  }
  return results;
}

Array tokens(const Problem& problem, const Array& array, std::int64_t n, std::int64_t begin,
             std::int64_t count) {
  if (problem.lens.empty()) return array.part(0, n, 1).part(1, begin, count);
  return array.part(1, problem.sequences()[n].begin + begin, count);
}

Array every(const Array& array, std::size_t axis, std::int64_t begin, std::int64_t step) {
  const auto extent = array.shape()[axis];
  return array.part(axis, begin, extent <= begin ? 0 : (extent - begin + step - 1) / step, step);
}

Array of_sequence(const Problem& problem, Name name, const Array& array, std::int64_t n) {
  if (is_state(name)) return array.part(0, n, 1);
  return tokens(problem, array, n, 0, problem.sequences()[n].length());
}

PlacedCall select(const PlacedCall& call, const std::vector<std::int64_t>& order) {
  const auto& p = call.problem;
  PlacedCall out{select(p, order), {}};
  for (const auto& [name, array] : call.inputs) {
    if (is_parameter(name)) {
      out.inputs[name] = array;
      continue;
    }
    auto& to = out.inputs[name] = Array(array.space(), array.dtype(), shape_of(out.problem, name));
    for (std::size_t i = 0; i < order.size(); ++i)
      assign(of_sequence(out.problem, name, to, std::int64_t(i)),
             of_sequence(p, name, array, order[i]));
  }
  return out;
}

std::optional<std::string> difference(const Problem& problem, Name name, const Array& got,
                                      const Array& want) {
  const auto found = compare(got, want);
  if (!found) return std::nullopt;
  auto sentence =
      fmt::format("{} {}: {:a}, expected {:a}", to_string(name),
                  element_name(problem, name, got.position(found->first)), found->got, found->want);
  if (found->count > 1) sentence += fmt::format("; {} of {} differ", found->count, got.size());
  return sentence;
}

std::optional<std::string> difference(const Problem& problem, const Arrays& got,
                                      const Arrays& want) {
  for (const auto& [name, array] : want)
    if (const auto other = got.find(name); other != got.end())
      if (auto found = difference(problem, name, other->second, array)) return found;
  return std::nullopt;
}

}  // namespace gdr2::laws
