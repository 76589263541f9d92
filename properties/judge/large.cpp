// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/large.hpp"

#include <algorithm>
#include <cmath>

#include "properties/judge/cut.hpp"
#include "properties/laws/balance.hpp"
#include "reference/error.hpp"
#include "reference/error_stats.hpp"

namespace gdr2 {
namespace {

void fail_by(const char* leg, std::string reason, Verdict& verdict) {
  if (verdict.state == State::kFailed) return;
  verdict.state = State::kFailed, verdict.leg = leg, verdict.reason = std::move(reason);
}

std::optional<std::string> not_finite(const Problem& problem, Name name, const Tensor& tensor) {
  for (std::int64_t i = 0; i < tensor.size(); ++i)
    if (const double x = tensor.get(i); !std::isfinite(x))
      return fmt::format("{}: {} is {}", to_string(name), element_name(problem, name, i), x);
  return std::nullopt;
}

/// All of them there: a kernel may tie gates and give the gradient of one.
bool has_every_gradient(const Problem& problem, const Tensors& results) {
  return std::ranges::all_of(gradient_names(problem),
                             [&](Name name) { return results.contains(name); });
}

}  // namespace

double work_of(const Problem& p) { return double(p.B * p.T) * double(p.HV * p.K * p.V); }

void judge_large(const Problem& problem, const Tensors& inputs, const Contract& contract,
                 const Tensors& results, std::int64_t judged, double most_work, Verdict& verdict) {
  for (const auto& [name, tensor] : results)
    if (const auto found = not_finite(problem, name, tensor)) fail_by("exact", *found, verdict);
  std::string closed;
  if (has_every_gradient(problem, results)) {
    auto tensors = results;
    for (const auto& [name, tensor] : inputs) tensors[name] = tensor;
    for (const auto& [law, violation] : laws::balances(problem, contract, tensors)) {
      closed += (closed.empty() ? "" : ", ") + law;
      if (violation) fail_by("laws", fmt::format("{}: {}", law, *violation), verdict);
    }
  }
  verdict.notes.push_back(
      fmt::format("{:.3g} tokens x state elements, GLOBAL judges up to {:.3g}: judged were EXACT, "
                  "{} and {} of {} chunks (LOCAL)",
                  work_of(problem), most_work, closed.empty() ? "no conservation law" : closed,
                  judged, std::ssize(chunks_of(problem))));
  if (judged > 0 || verdict.state != State::kPassed) return;
  verdict.state = State::kMistrusted, verdict.leg = "global";
  verdict.reason =
      "the problem is too large for GLOBAL, and the kernel exports no states for LOCAL";
}

}  // namespace gdr2
