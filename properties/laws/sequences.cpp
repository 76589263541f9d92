// SPDX-License-Identifier: Apache-2.0
// X3: sequences do not know of each other.
#include "properties/laws/family.hpp"

#include <algorithm>
#include <numeric>

namespace gdr2::laws {
namespace {

std::vector<std::int64_t> all_sequences(const Problem& p) {
  std::vector<std::int64_t> order(p.N());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// What differs between the results of sequence i of one call and those of sequence n of another.
/// What sums over sequences is not compared.
Violation difference(const Problem& p, const Arrays& got, std::int64_t i, const Problem& of_want,
                     const Arrays& want, std::int64_t n) {
  for (const auto& [name, array] : want) {
    if (is_parameter(name)) continue;
    if (auto found = laws::difference(p, name, of_sequence(p, name, got.at(name), i),
                                      of_sequence(of_want, name, array, n)))
      return found;
  }
  return std::nullopt;
}

Verdict sequence_alone(const Kernel& kernel, const Case& c) {
  if (c.problem.N() == 1) return skipped("one sequence");
  return judge_in_place(kernel, c, [&](const PlacedCall& call) -> Violation {
    const auto all = run(kernel, call);
    for (auto n : all_sequences(call.problem)) {
      const auto alone = select(call, {n});
      if (auto found = difference(alone.problem, run(kernel, alone), 0, call.problem, all, n))
        return fmt::format("sequence {} alone: {}", n, *found);
    }
    return std::nullopt;
  });
}

Verdict sequence_order(const Kernel& kernel, const Case& c) {
  if (c.problem.N() == 1) return skipped("one sequence");
  return judge_in_place(kernel, c, [&](const PlacedCall& call) -> Violation {
    auto order = all_sequences(call.problem);
    std::reverse(order.begin(), order.end());
    const auto other = select(call, order);
    const auto got = run(kernel, other), want = run(kernel, call);
    for (std::size_t i = 0; i < order.size(); ++i)
      if (auto found =
              difference(other.problem, got, std::int64_t(i), call.problem, want, order[i]))
        return found;
    return std::nullopt;
  });
}

/// NaN everywhere but in one sequence.
PlacedCall with_poisoned_neighbours(const PlacedCall& call, std::int64_t kept) {
  auto poisoned = call;
  for (auto& [name, array] : poisoned.inputs) {
    if (is_parameter(name)) continue;
    const auto whole = array;
    array = Array(whole.space(), whole.dtype(), whole.shape());
    assign(of_sequence(call.problem, name, array, kept),
           of_sequence(call.problem, name, whole, kept));
  }
  return poisoned;
}

Verdict poisoned_neighbours(const Kernel& kernel, const Case& c) {
  if (c.problem.N() == 1) return skipped("one sequence");
  return judge_in_place(kernel, c, [&](const PlacedCall& call) -> Violation {
    const auto& p = call.problem;
    const auto want = run(kernel, call);
    for (auto kept : {std::int64_t{0}, p.N() / 2, p.N() - 1})
      if (auto found =
              difference(p, run(kernel, with_poisoned_neighbours(call, kept)), kept, p, want, kept))
        return fmt::format("sequence {} beside NaN: {}", kept, *found);
    return std::nullopt;
  });
}

Verdict empty_sequences(const Kernel& kernel, const Case& c) {
  if (c.problem.lens.empty()) return skipped("not packed");
  return judge_in_place(kernel, c, [&](const PlacedCall& call) -> Violation {
    const auto& p = call.problem;
    const auto results = run(kernel, call);
    for (auto [result, given] : {std::pair{Name::ht, Name::h0}, std::pair{Name::dh0, Name::dht}}) {
      const auto found = results.find(result);
      if (found == results.end()) continue;
      const bool has = call.inputs.contains(given);
      for (auto n : all_sequences(p)) {
        if (p.lens[n]) continue;
        const auto got = found->second.part(0, n, 1);
        auto want = has ? call.inputs.at(given).part(0, n, 1) : copy(got);
        if (!has) fill(want, 0);
        if (auto violation = laws::difference(p, result, got, want)) return violation;
      }
    }
    return std::nullopt;
  });
}

}  // namespace

std::vector<Law> sequence_laws() {
  return {
      {"sequence_alone", "a sequence in a batch or pack = the sequence alone (X3)", sequence_alone},
      {"sequence_order", "the order of sequences does not matter (X3)", sequence_order},
      {"poisoned_neighbours", "NaN in other sequences does not reach a sequence (X3)",
       poisoned_neighbours},
      {"empty_sequences", "an empty sequence returns its state and cotangent (X3)",
       empty_sequences},
  };
}

}  // namespace gdr2::laws
