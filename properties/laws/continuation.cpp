// SPDX-License-Identifier: Apache-2.0
// Other roads to the same numbers, equal but for rounding: a sequence cut at a token and resumed from
// the state there, forward and backward; the token loop; results of parts of (v, S_0) added up.
#include "properties/laws/continuation.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "properties/laws/family.hpp"
#include "properties/laws/margin.hpp"

namespace gdr2::laws {
namespace {

/// A sequence of a call alone.
Call longest_alone(const Call& call) {
  const auto sequences = call.problem.sequences();
  const auto longest = std::ranges::max_element(sequences, {}, &Sequence::length);
  auto alone = select(call, {longest - sequences.begin()});
  alone.problem.T = longest->length();
  alone.problem.lens.clear();
  alone.problem.ht = true;
  return alone;
}

/// Tokens begin .. end of a call of one sequence; states and cotangents of states are not cut.
Call tokens(const Call& call, std::int64_t begin, std::int64_t end) {
  Call part{call.problem, {}};
  part.problem.T = end - begin;
  for (const auto& [name, tensor] : call.inputs) {
    if (is_state(name) || is_parameter(name)) {
      part.inputs[name] = tensor;
      continue;
    }
    Tensor rows(tensor.dtype(), shape_of(part.problem, name));
    const auto row = tensor.size() / call.problem.T;
    for (std::int64_t i = 0; i < rows.size(); ++i) rows.set(i, tensor.get(begin * row + i));
    part.inputs[name] = rows;
  }
  return part;
}

/// Values of two parts as those of the whole: tokens one after the other, sums of what sums over
/// tokens, the last part's final state and the first one's initial gradient.
Values<double> joined(const Values<double>& first, const Values<double>& second) {
  auto whole = second;
  for (auto& [name, values] : whole) {
    const auto found = first.find(name);
    if (found == first.end()) continue;
    const auto& before = found->second;
    if (name == Name::dh0)
      values = before;
    else if (is_parameter(name))
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += before[i];
    else if (!is_state(name))
      values.insert(values.begin(), before.begin(), before.end());
  }
  return whole;
}

template <class Change>
Values<double> each(Values<double> values, const Change& change) {
  for (auto& [name, x] : values)
    for (auto& value : x) value = change(value);
  return values;
}

/// The deviation of the joined results: chunk borders of the parts lie elsewhere than those of the
/// whole, and with them what an element's error is.
Margin::SigmaOf deviation(const Kernel& kernel, const Resumed& parts) {
  return [first = Margin(kernel, parts.first), second = Margin(kernel, parts.second)](Look look) {
    const auto squares = [&](const Margin& part) {
      return each(part.sigma(look), [](double s) { return s * s; });
    };
    return each(joined(squares(first), squares(second)), [](double variance) { return std::sqrt(variance); });
  };
}

Verdict split_and_resumed(const Kernel& kernel, const Case& c) {
  return judge(c, [&](const Call& call) -> Violation {
    const auto alone = longest_alone(call);
    const auto T = alone.problem.T;
    if (T < 2) throw Unsupported("no sequence of two tokens");
    const auto whole = run(kernel, alone);
    // In a chunk and a block of rows, at a chunk's border, before the last token.
    for (const auto t : std::set{T / 2 - (T / 2 > 1 && T / 2 % 16 == 0),
                                 std::min<std::int64_t>(64, T - 1), T - 1}) {
      const auto parts = resume(kernel, alone, t);
      // Rounding of the first part goes through the second as it does through the whole.
      auto margin = Margin(kernel, alone).with(Margin(kernel, alone));
      const auto joined = parts.results();
      if (margin.near(whole, joined)) continue;  // without the envelopes of the parts
      if (auto found = margin.with(deviation(kernel, parts)).beyond(whole, joined))
        return fmt::format("resumed at token {}: {}", t, *found);
    }
    return std::nullopt;
  });
}

Verdict token_by_token(const Kernel& kernel, const Case& c) {
  const auto& recurrent = find_kernel("cpu.recurrent");
  if (&recurrent == &kernel) return skipped("it is the token loop");
  return judge(c, [&](const Call& call) {
    return Margin(kernel, call)
        .with(Margin(recurrent, call))
        .beyond(run(kernel, call), run(recurrent, call));
  });
}

/// v and S_0 where (index + which) is even, zero elsewhere.
Call every_other(const Call& call, std::int64_t which) {
  auto part = call;
  for (auto name : {Name::v, Name::h0}) {
    const auto found = part.inputs.find(name);
    if (found == part.inputs.end()) continue;
    auto copy = found->second.clone();
    for (std::int64_t i = 0; i < copy.size(); ++i)
      if ((i / 3 + which) % 2) copy.set(i, 0);
    found->second = copy;
  }
  return part;
}

Verdict superposition(const Kernel& kernel, const Case& c) {
  return judge(c, [&](Call call) {
    call.problem.backward = false;
    const auto a = every_other(call, 0), b = every_other(call, 1);
    auto sum = to_values<double>(run(kernel, a));
    for (const auto& [name, tensor] : run(kernel, b))
      for (std::int64_t i = 0; i < tensor.size(); ++i) sum.at(name)[i] += tensor.get(i);
    return Margin(kernel, call)
        .with(Margin(kernel, a))
        .with(Margin(kernel, b))
        .beyond(run(kernel, call), sum);
  });
}

}  // namespace

Values<double> Resumed::results() const {
  auto values = joined(to_values<double>(first_results), to_values<double>(second_results));
  if (!first.problem.h0) values.erase(Name::dh0);
  return values;
}

Resumed resume(const Kernel& kernel, const Call& call, std::int64_t t) {
  Resumed parts{tokens(call, 0, t), tokens(call, t, call.problem.T), {}, {}};
  auto& [first, second, first_results, second_results] = parts;
  first.problem.backward = false;
  first_results = run(kernel, first);
  second.problem.h0 = true;
  second.inputs[Name::h0] = first_results.at(Name::ht);
  second_results = run(kernel, second);
  if (call.problem.backward) {
    first.problem.backward = true;
    first.problem.loss = call.problem.has_do() ? Loss::kBoth : Loss::kHt;
    first.inputs[Name::dht] = second_results.at(Name::dh0);
    first_results = run(kernel, first);
  }
  return parts;
}

std::vector<Law> continuation_laws() {
  constexpr auto kMargin = Law::Kind::kMargin;
  return {
      {"split_and_resumed",
       "a sequence cut at a token and resumed = the whole, gradients too, but for rounding",
       split_and_resumed, kMargin},
      {"token_by_token", "the kernel = the token loop in fp32, but for rounding", token_by_token,
       kMargin},
      {"superposition", "o and S_T of parts of (v, S_0) add up, but for rounding", superposition,
       kMargin},
  };
}

}  // namespace gdr2::laws
