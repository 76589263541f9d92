// SPDX-License-Identifier: Apache-2.0
#include "properties/power/hunt.hpp"

#include <cstring>

#include "properties/judge/check.hpp"
#include "properties/laws/law.hpp"
#include "properties/laws/law_run.hpp"
#include "properties/power/envelope_memo.hpp"
#include "properties/power/public_rules.hpp"

namespace gdr2::power {
namespace {

bool same_bits(const Tensors& a, const Tensors& b) {
  for (const auto& [name, x] : a) {
    const auto& y = b.at(name);
    const auto width = size_of(x.dtype());
    for (std::int64_t i = 0; i < x.size(); ++i)
      if (std::memcmp(x.data() + i * std::int64_t(width), y.data() + i * std::int64_t(width), width)) return false;
  }
  return true;
}

/// Copies, so that a kernel that writes its inputs spoils no other's.
laws::Call fresh_call(const Case& c) { return {c.problem, make_inputs(c)}; }

std::optional<Tensors> results_of(const Kernel& kernel, const Case& c) {
  try {
    return laws::run(kernel, fresh_call(c));
  } catch (const std::exception&) {
    return std::nullopt;  // the judge will say so
  }
}

/// One case, with what all its kernels share.
class Ground {
 public:
  Ground(const Case& c, Legs legs) : case_(c), all_(legs == Legs::kAll) {}

  void meet(Prey& prey) {
    const auto* right = prey.right ? &right_of(prey.right) : nullptr;
    if (right && right->report.accused) return;
    const auto results = results_of(*prey.kernel, case_);
    const bool differs = !results || !right || !right->results || !same_bits(*results, *right->results);
    if (!differs && (all_ || !prey.beyond_values)) return;  // LOCAL and CONTRACT look at values
    auto verdict = judged(*prey.kernel);
    if (!all_) {
      ++prey.judged;
      prey.differing += differs;
      for (auto& rule : rules_against(*prey.kernel, results)) prey.rules.insert(rule);
    }
    if (!accuses(verdict)) return;
    prey.line = to_string(case_);
    prey.caught = std::move(verdict);
  }

  std::vector<RightOnCase> rights() const {
    std::vector<RightOnCase> reports;
    for (const auto& [kernel, right] : rights_) reports.push_back(right.report);
    return reports;
  }

 private:
  struct Right {
    std::optional<Tensors> results;
    RightOnCase report;
  };

  Verdict judged(const Kernel& kernel) {
    return check(kernel, case_,
                 {.envelope = memo_.source(), .local = all_, .contract = all_, .diagnosis = false});
  }

  std::vector<std::string> rules_against(const Kernel& kernel, const std::optional<Tensors>& results) {
    if (!results) return {};
    try {
      return rejecting_rules(
          *results, memo_.get(case_.problem, make_inputs(case_), kernel.contract(case_.problem)).reference);
    } catch (const EnvelopeOverflow&) {
      return {};
    }
  }

  const Right& right_of(const Kernel* kernel) {
    const auto [place, fresh] = rights_.try_emplace(kernel);
    auto& right = place->second;
    if (!fresh) return right;
    right.results = results_of(*kernel, case_);
    right.report = {kernel, accuses(judged(*kernel)), rules_against(*kernel, right.results)};
    return right;
  }

  const Case& case_;
  bool all_;
  EnvelopeMemo memo_;
  std::map<const Kernel*, Right> rights_;
};

}  // namespace

std::vector<RightOnCase> hunt(const Case& c, std::vector<Prey>& prey, Legs legs) {
  Ground ground(c, legs);
  for (auto& one : prey)
    if (!one.caught && !one.kernel->unsupported(c.problem)) ground.meet(one);
  return ground.rights();
}

std::optional<LawBroken> law_broken(const Kernel& kernel) {
  static const std::vector<Case> cases{
      parse_case("lens=0,3,9 HV=2 K=8 V=8 h0=1 loss=o view=fused"),
      parse_case("B=2 T=12 H=2 K=8 V=4 h0=1 gate=softplus recipe=slow")};
  for (const auto& c : cases)
    for (const auto& law : all_laws()) {
      // The judge compares two runs anyway, and has margins of its own.
      if (law.name == "repeatable" || law.kind == Law::Kind::kMargin) continue;
      const auto verdict = law.check(kernel, c);
      if (accuses(verdict))
        return LawBroken{law.name, to_string(c), verdict.reason};
    }
  return std::nullopt;
}

}  // namespace gdr2::power
