// SPDX-License-Identifier: Apache-2.0
#include "properties/power/perturbation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "fixtures/random.hpp"
#include "properties/judge/check.hpp"
#include "properties/judge/tolerances.hpp"
#include "properties/laws/law_run.hpp"
#include "properties/power/public_rules.hpp"
#include "reference/rounding.hpp"

namespace gdr2::power {
namespace {

using Doubles = std::vector<double>;

/// A kernel that knows its results already.
class Replay : public Kernel {
 public:
  Replay(const Kernel& kernel, const Tensors& results)
      : Kernel(kernel.name(), kernel.description()), kernel_(kernel), results_(results) {}

 private:
  std::optional<std::string> do_unsupported(const Problem& p) const override {
    return kernel_.unsupported(p);
  }
  Contract do_contract(const Problem& p) const override { return kernel_.contract(p); }
  void do_forward(const Problem&, const Tensors&, Tensors& out) const override { put(out); }
  void do_backward(const Problem&, const Tensors&, Tensors& out) const override { put(out); }
  void put(Tensors& out) const {
    for (auto& [name, tensor] : out) tensor.assign(results_.at(name).to_doubles());
  }

  const Kernel& kernel_;
  const Tensors& results_;
};

struct Subject {
  const Problem& problem;
  const Tensors& inputs;
  Name name;
  const Tensor& tensor;
  const Doubles& reference;
  const Doubles& sigma;   ///< of the first look
  const Doubles& second;  ///< of the second, which the judge takes on a few elements
  double allowed;
};

using Result = std::optional<Doubles>;  ///< nullopt: says nothing about this tensor

/// Elements of one index of an axis.
std::int64_t inner(const Shape& shape, std::size_t axis) {
  std::int64_t n = 1;
  for (auto d = axis + 1; d < shape.size(); ++d) n *= shape[d];
  return n;
}

/// The axis of tokens ([B, T, ...] tensors); of rows for a state.
std::size_t row_axis(const Subject& s) { return is_state(s.name) ? 2 : 1; }

Result zero(const Subject& s, Doubles) { return Doubles(s.reference.size(), 0.0); }

Result sign(const Subject&, Doubles x) {
  for (auto& value : x) value = -value;
  return x;
}

Result constant(const Subject&, Doubles x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return Doubles(x.size(), std::sqrt(sum / double(x.size())));
}

Result row_shifted(const Subject& s, Doubles x) {
  const auto& shape = s.tensor.shape();
  if (shape.size() < 4 || shape[row_axis(s)] < 2) return std::nullopt;
  const auto row = inner(shape, row_axis(s));
  const auto at = shape[row_axis(s)] / 2 * row;
  std::copy_n(x.begin() + (at - row), row, x.begin() + at);
  return x;
}

Result tail_dropped(const Subject& s, Doubles x) {
  const auto& shape = s.tensor.shape();
  if (shape.size() < 4) return std::nullopt;
  const auto axis = row_axis(s);
  const auto row = inner(shape, axis);
  std::fill_n(x.begin() + (shape[axis] - 1) * row, row, 0.0);
  return x;
}

Result heads_swapped(const Subject& s, Doubles x) {
  const auto& shape = s.tensor.shape();
  const std::size_t axis = is_state(s.name) ? 1 : is_parameter(s.name) ? 0 : 2;
  if (shape[axis] < 2) return std::nullopt;
  const auto head = inner(shape, axis);
  for (std::int64_t i = 0; i < std::ssize(x); ++i)
    if (i / head % shape[axis] == 0) std::swap(x[i], x[i + head]);
  return x;
}

Result input_copied(const Subject& s, Doubles) {
  for (auto name : {Name::h0, Name::v, Name::k, Name::A_log, Name::dt_bias}) {
    const auto found = s.inputs.find(name);
    if (found != s.inputs.end() && found->second.shape() == s.tensor.shape())
      return found->second.to_doubles();
  }
  return std::nullopt;
}

Result planted(Doubles x, double value) {
  x[x.size() / 3] = value;
  return x;
}

Result nan_planted(const Subject&, Doubles x) {
  return planted(std::move(x), std::numeric_limits<double>::quiet_NaN());
}
Result inf_planted(const Subject&, Doubles x) {
  return planted(std::move(x), std::numeric_limits<double>::infinity());
}

/// One element moved to just over the allowed distance from its reference, by either look, away from zero.
Result element_moved(const Subject& s, Doubles x, std::int64_t i) {
  const Format format = format_of(s.tensor.dtype());
  const double y = s.reference[i];
  if (!std::isfinite(round_nearest(y, format))) return std::nullopt;
  const double limit = s.allowed * std::max(s.sigma[i], s.second[i]);
  double moved = round_nearest(y + std::copysign(1.001 * limit, y), format);
  if (!(std::fabs(moved - y) > limit)) moved += std::copysign(ulp(moved, format), y);
  if (!std::isfinite(round_nearest(moved, format))) return std::nullopt;
  x[i] = moved;
  return x;
}

/// Largest |change| over sigma of what is stored; infinite where an exact element changes.
double size_of_change(const Subject& s, const Doubles& x) {
  double size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double stored = round_nearest(x[i], format_of(s.tensor.dtype()));
    const double change = std::fabs(stored - s.reference[i]);
    if (change == 0 || stored == s.tensor.get(std::int64_t(i))) continue;
    const double z = change / std::max(s.sigma[i], s.second[i]);
    size = std::isnan(z) ? HUGE_VAL : std::max(size, z);
  }
  return size;
}

/// Public rules that accept `right` and reject what is stored of `x`.
std::vector<std::string> rules_that_tell(const Subject& s, const Doubles& right, Doubles x) {
  for (auto& value : x) value = round_nearest(value, format_of(s.tensor.dtype()));
  std::vector<std::string> names;
  for (const auto& rule : public_rules())
    if (rule.accepts(s.name, right, s.reference) && !rule.accepts(s.name, x, s.reference)) names.push_back(rule.name);
  return names;
}

struct Way {
  const char* name;
  Result (*apply)(const Subject&, Doubles);
};

constexpr Way kWays[] = {{"zero", zero},
                         {"sign", sign},
                         {"constant", constant},
                         {"row_shifted", row_shifted},
                         {"tail_dropped", tail_dropped},
                         {"heads_swapped", heads_swapped},
                         {"input_copied", input_copied},
                         {"nan", nan_planted},
                         {"inf", inf_planted}};

}  // namespace

std::vector<Perturbed> perturb(const Kernel& kernel, const Case& c, int places) {
  EnvelopeMemo memo;
  const laws::Call call{c.problem, make_inputs(c)};
  const auto contract = kernel.contract(c.problem);
  const auto& envelope = memo.get(c.problem, call.inputs, contract);
  const auto& second = memo.get(c.problem, call.inputs, contract, {}, Look::kSecond);
  auto results = laws::run(kernel, call);
  std::vector<Perturbed> all;
  for (const auto& [name, tensor] : Tensors(results)) {
    if (tensor.empty()) continue;
    const Subject subject{c.problem, call.inputs, name, tensor, envelope.reference.at(name),
                          envelope.sigma.at(name), second.sigma.at(name), tolerance::z_of(contract, name)};
    const auto right = tensor.to_doubles();
    const auto judge = [&](const char* way, const Result& values) {
      if (!values) return;
      const double size = size_of_change(subject, *values);
      if (size == 0) return;
      results[name] = tensor.clone();
      results[name].assign(*values);
      const auto verdict = check(Replay(kernel, results), c,
                                 {.envelope = memo.source(), .local = false, .statistics = false,
                                  .contract = false, .diagnosis = false});
      results[name] = tensor;
      all.push_back({way, name, verdict.state == State::kFailed, size, rules_that_tell(subject, right, *values)});
    };
    for (const auto& way : kWays) judge(way.name, way.apply(subject, right));
    const Random random(c.seed);
    for (int place = 0; place < places; ++place)
      judge("one_element", element_moved(subject, right, random.below("place", place, std::ssize(right))));
  }
  return all;
}

}  // namespace gdr2::power
