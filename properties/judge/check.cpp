// SPDX-License-Identifier: Apache-2.0
#include "properties/judge/check.hpp"

#include <algorithm>

#include "properties/judge/cut.hpp"
#include "properties/judge/diagnosis.hpp"
#include "properties/judge/downgrades.hpp"
#include "properties/judge/elements.hpp"
#include "properties/judge/guarded.hpp"
#include "properties/judge/large.hpp"
#include "properties/judge/screen.hpp"
#include "properties/judge/second_look.hpp"
#include "properties/judge/statistics.hpp"
#include "reference/emulate.hpp"
#include "reference/error.hpp"

namespace gdr2 {
namespace {

/// What a kernel exports and the emulator of its contract knows.
std::vector<Name> stages_to_ask(const Kernel& kernel, const Problem& problem,
                                const Contract& contract) {
  if (contract.accumulator == Format::kF64) return {};  // the truth of stages is in double
  const auto known = emulated_stages(problem, contract);
  auto stages = kernel.exports(problem);
  std::erase_if(stages, [&](Name name) { return !wants(known, name); });
  return stages;
}

std::vector<Name> stages_in(const Values<double>& values) {
  std::vector<Name> stages;
  for (const auto& [name, x] : values)
    if (is_stage(name)) stages.push_back(name);
  return stages;
}

Evidence gather(const Problem& problem, const Tensors& inputs, const Contract& contract,
                Values<double> values, const EnvelopeSource& envelope_of) {
  const auto stages = stages_in(values);
  return {problem, contract, to_values<double>(inputs), std::move(values),
          envelope_of(problem, inputs, contract, stages, Look::kFirst), {}};
}

/// Elements that the kernel gives no value for take the reference's, unexplained: no leg counts them.
void fill_unknown(Evidence& e) {
  for (auto name : {Name::ht, Name::dh0}) {
    const auto found = e.values.find(name);
    if (found == e.values.end()) continue;
    for (std::size_t i = 0; i < found->second.size(); ++i)
      if (std::isnan(found->second[i])) {
        found->second[i] = e.envelope.reference.at(name)[i];
        e.envelope.sigma.at(name)[i] = 0;
      }
  }
}

bool has_long_sequence(const Problem& problem) {
  return std::ranges::any_of(problem.sequences(), [](auto s) { return s.length() > kChunk; });
}

/// The judge at work on one case: whole problem, then chunks, then what both together tell.
class Judge {
 public:
  Judge(const Problem& problem, const Tensors& inputs, const Contract& contract,
        const Tensors& results, const CheckOptions& options)
      : inputs_(inputs), results_(results), options_(options), large_(work_of(problem) > options.global_work) {
    if (large_)
      whole_.problem = problem, whole_.contract = contract;
    else
      whole_ = gather(problem, inputs, contract, to_values<double>(results), options.envelope);
  }

  Verdict verdict() {
    if (large_) {
      judge_chunks();
      judge_large(whole_.problem, inputs_, whole_.contract, results_, cut_ ? std::ssize(cut_->chunks) : 0,
                  options_.global_work, verdict_);
    } else {
      note_explained(look_again(whole_, inputs_, options_.envelope), "");
      judge_elements(whole_, nullptr, verdict_);
      if (options_.local && verdict_.leg != "exact") judge_chunks();
    }
    const bool has_evidence = cut_ || !large_;
    if (has_evidence && verdict_.leg != "exact") {
      if (options_.statistics) judge_classes();
      if (options_.contract) judge_contract();
    }
    if (has_evidence && options_.diagnosis && verdict_.state == State::kFailed) diagnose();
    return std::move(verdict_);
  }

 private:
  /// The sharper of the two for everything but the elements: error does not pile up in chunks.
  Evidence& sharpest() { return cut_ ? local_ : whole_; }

  void judge_chunks() {
    const auto& p = whole_.problem;
    if (!can_cut(p, results_) || !(large_ || has_long_sequence(p))) return;
    cut_ = cut(p, inputs_, results_,
               chosen_chunks(p, inputs_, results_, tolerance::kLocalChunks, options_.global_work));
    try {
      local_ = gather(cut_->problem, cut_->inputs, whole_.contract, cut_->results, make_envelope);
      fill_unknown(local_);
      note_explained(look_again(local_, cut_->inputs, make_envelope), " of chunks");
    } catch (const EnvelopeOverflow& overflow) {
      cut_.reset();
      if (verdict_.state == State::kPassed)
        verdict_.state = State::kMistrusted, verdict_.leg = "local", verdict_.reason = overflow.what();
      return;
    }
    judge_elements(local_, &*cut_, verdict_);
  }

  void note_explained(std::int64_t count, const char* where) {
    if (count == 0) return;
    verdict_.notes.push_back(fmt::format("{} elements{} are beyond what {} members explain and within what others do",
                                         count, where, tolerance::kEnsemble));
  }

  void judge_classes() {
    auto& e = with_nearest();
    for (auto& figure : judge_statistics(e)) take(std::move(figure));
  }

  void judge_contract() {
    fits_ = fit_downgrades(with_nearest());
    take(contract_figure(*fits_));
  }

  Evidence& with_nearest() {
    auto& e = sharpest();
    if (e.nearest.empty()) e.nearest = emulated_as_stored(e, e.contract);
    return e;
  }

  void take(Figure figure) {
    if (figure.what.empty()) return;
    if (!figure.passes() && verdict_.state != State::kFailed) {
      verdict_.state = State::kFailed;
      verdict_.leg = figure.leg;
      verdict_.reason = fmt::format("{}: {:.3g}, allowed {:.3g}", figure.what, figure.value, figure.allowed);
    }
    verdict_.figures.push_back(std::move(figure));
  }

  void diagnose() {
    Diagnosis d;
    if (const auto* first = first_to_break()) {
      const auto name = first->stats.name;
      const bool local = first->leg == "local";
      const auto& e = local ? local_ : whole_;
      d.where = where_beyond(e, name, tolerance::z_of(e.contract, name),
                             local ? cut_->chunks : std::vector<Chunk>{});
      if (is_stage(name)) d.stage = to_string(name);
      if (verdict_.leg != "exact")
        d.variance = variance_by_site(e, name, first->stats.worst.front().index);
    }
    if (verdict_.leg != "exact") {
      if (!fits_) fits_ = fit_downgrades(with_nearest());
      name_site(*fits_, d);
    }
    verdict_.diagnosis = std::move(d);
  }

  /// Of the tensors that failed the first to be formed: chunks before the whole, the forward from the
  /// first chunk on, then the backward from the last chunk on.
  const TensorVerdict* first_to_break() const {
    const TensorVerdict* first = nullptr;
    const auto key = [&](const TensorVerdict& t) {
      const bool local = t.leg == "local", backward = order_of_forming(t.stats.name) > order_of_forming(Name::ht);
      const auto sequence = local ? Places(local_.problem, t.stats.name)[t.stats.worst.front().index].sequence : 0;
      const auto chunk = local ? cut_->chunks[sequence].index : 0;
      return std::tuple(!local, backward, backward ? -chunk : chunk, order_of_forming(t.stats.name));
    };
    for (const auto& tensor : verdict_.tensors)
      if (tensor.state == State::kFailed && (!first || key(tensor) < key(*first))) first = &tensor;
    return first;
  }

  const Tensors &inputs_, &results_;
  const CheckOptions& options_;
  bool large_;
  Evidence whole_, local_;
  std::optional<Cut> cut_;
  std::optional<std::vector<SiteFit>> fits_;
  Verdict verdict_;
};

Verdict run_and_judge(const Kernel& kernel, const Case& c, const CheckOptions& options) {
  const auto inputs = make_inputs(c);
  const auto contract = kernel.contract(c.problem);
  const auto run =
      run_guarded(kernel, c.problem, inputs, stages_to_ask(kernel, c.problem, contract));
  auto verdict = Judge(c.problem, inputs, contract, run.results, options).verdict();
  verdict.difficulty = difficulty_of(c.problem, inputs);
  if (run.fault && verdict.leg != "exact")
    verdict.state = State::kFailed, verdict.leg = "exact", verdict.reason = *run.fault;
  return verdict;
}

}  // namespace

Verdict verdict_of(const KernelFault& fault) {
  if (fault.kind() == KernelFault::Kind::kWrong) return {State::kFailed, "exact", fault.what(), {}};
  if (fault.kind() == KernelFault::Kind::kSkipped) return {State::kSkipped, "", fault.what(), {}};
  const bool late = fault.kind() == KernelFault::Kind::kTimedOut;
  return {late ? State::kTimedOut : State::kCrashed, "", fault.what(), {}};
}

bool accuses(const Verdict& verdict) {
  return verdict.state == State::kFailed || verdict.state == State::kCrashed || verdict.state == State::kTimedOut;
}

Verdict check(const Kernel& kernel, const Case& c, const CheckOptions& options) {
  try {
    if (const auto reason = kernel.unsupported(c.problem))
      return {State::kSkipped, "", fmt::format("{}: {}", kernel.name(), *reason), {}};
    return run_and_judge(kernel, c, options);
  } catch (const KernelFault& fault) {
    return verdict_of(fault);
  } catch (const EnvelopeOverflow& overflow) {
    return {State::kMistrusted, "global", overflow.what(), {}};
  } catch (const std::exception& error) {
    return {State::kCrashed, "", error.what(), {}};
  }
}

Verdict judge_results(const Problem& problem, const Tensors& inputs, const Contract& contract,
                      const Tensors& results, const CheckOptions& options) {
  auto verdict = Judge(problem, inputs, contract, results, options).verdict();
  verdict.difficulty = difficulty_of(problem, inputs);
  return verdict;
}

Verdict judge_results(const Case& c, const Contract& contract, const Tensors& results,
                      const CheckOptions& options) {
  return judge_results(c.problem, make_inputs(c), contract, results, options);
}

}  // namespace gdr2
