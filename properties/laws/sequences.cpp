// SPDX-License-Identifier: Apache-2.0
// X3: sequences do not know of each other.
#include "properties/laws/family.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gdr2::laws {
namespace {

std::vector<std::int64_t> all_sequences(const Problem& p) {
  std::vector<std::int64_t> order(p.N());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Results by sequence: those that sum over sequences are left out.
Tensors per_sequence(Tensors results) {
  results.erase(Name::dA_log);
  results.erase(Name::ddt_bias);
  return results;
}

/// The results of some sequences of a call, cut from results of all.
Tensors cut(const Call& call, const Tensors& results, const std::vector<std::int64_t>& order) {
  return select({call.problem, per_sequence(results)}, order).inputs;
}

Verdict sequence_alone(const Kernel& kernel, const Case& c) {
  if (c.problem.N() == 1) return skipped("one sequence");
  return judge(c, [&](const Call& call) -> Violation {
    const auto all = run(kernel, call);
    for (auto n : all_sequences(call.problem)) {
      const auto alone = select(call, {n});
      if (auto found =
              difference(alone.problem, per_sequence(run(kernel, alone)), cut(call, all, {n})))
        return fmt::format("sequence {} alone: {}", n, *found);
    }
    return std::nullopt;
  });
}

Verdict sequence_order(const Kernel& kernel, const Case& c) {
  if (c.problem.N() == 1) return skipped("one sequence");
  return judge(c, [&](const Call& call) {
    auto order = all_sequences(call.problem);
    std::reverse(order.begin(), order.end());
    const auto other = select(call, order);
    return difference(other.problem, per_sequence(run(kernel, other)),
                      cut(call, run(kernel, call), order));
  });
}

Verdict poisoned_neighbours(const Kernel& kernel, const Case& c) {
  if (c.problem.N() == 1) return skipped("one sequence");
  return judge(c, [&](const Call& call) -> Violation {
    const auto& p = call.problem;
    const auto want = run(kernel, call);
    for (auto kept_sequence : {std::int64_t{0}, p.N() / 2, p.N() - 1}) {
      auto poisoned = call;
      const auto s = sequence_of(p, kept_sequence);
      for (auto& [name, tensor] : poisoned.inputs) {
        if (is_parameter(name)) continue;
        tensor = changed(tensor, [&](const Index& i, double x) {
          const auto t = i[0] * p.T + i[1];
          const bool own = is_state(name) ? i[0] == kept_sequence : t >= s.begin && t < s.end;
          return own ? x : NAN;
        });
      }
      const auto got = cut(call, run(kernel, poisoned), {kept_sequence});
      if (auto found = difference(select(call, {kept_sequence}).problem, got,
                                  cut(call, want, {kept_sequence})))
        return fmt::format("sequence {} beside NaN: {}", kept_sequence, *found);
    }
    return std::nullopt;
  });
}

Verdict empty_sequences(const Kernel& kernel, const Case& c) {
  if (c.problem.lens.empty()) return skipped("not packed");
  return judge(c, [&](const Call& call) -> Violation {
    const auto results = run(kernel, call);
    for (auto [result, given] : {std::pair{Name::ht, Name::h0}, std::pair{Name::dh0, Name::dht}}) {
      const auto found = results.find(result);
      if (found == results.end()) continue;
      const bool has = call.inputs.contains(given);
      const auto want = changed(found->second, [&](const Index& i, double x) {
        if (call.problem.lens[i[0]]) return x;
        const auto& shape = found->second.shape();
        const auto index = ((i[0] * shape[1] + i[1]) * shape[2] + i[2]) * shape[3] + i[3];
        return has ? call.inputs.at(given).get(index) : 0;
      });
      if (auto violation = difference(call.problem, result, found->second, want)) return violation;
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
