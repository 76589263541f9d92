// SPDX-License-Identifier: Apache-2.0
#include "reports/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "reports/accuracy.hpp"

namespace gdr2 {
namespace {

constexpr double kNormal95 = 1.959964;
constexpr const char* kAllDtypes = "all";
constexpr std::ptrdiff_t kFewPairs = 8;  ///< of other inputs: too few to know their spread from

/// The words of a line, without those that start with one of the keys.
std::string without(const std::string& line, std::initializer_list<std::string_view> keys) {
  std::istringstream stream(line);
  std::string text;
  for (std::string word; stream >> word;)
    if (std::ranges::none_of(keys, [&](auto key) { return word.starts_with(key); }))
      text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string recipe_of(const std::string& line) {
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    if (word.starts_with("recipe=")) return word.substr(7);
    if (word.starts_with("file=")) return "file";
  }
  return "plain";
}

using Key = std::tuple<std::string, std::string>;  // kernel, line and what else names a case
using Cases = std::map<Key, const CaseRecord*>;

/// `seeds`: cases are told apart by their seeds; else the n-th of a line stands for its n-th seed.
Cases cases_by_key(const RunRecord& run, bool seeds, bool kernels) {
  Cases cases;
  std::map<Key, int> copies;
  for (const auto& record : run.cases) {
    const auto line = seeds ? record.line : without(record.line, {"seed="});
    Key key{kernels ? record.kernel : "", record.note + " " + line};
    if (const int copy = copies[key]++; copy > 0)
      std::get<1>(key) += fmt::format(" ({})", copy + 1);
    cases[key] = &record;
  }
  return cases;
}

std::set<std::string> kernels_of(const RunRecord& run) {
  std::set<std::string> kernels;
  for (const auto& record : run.cases) kernels.insert(record.kernel);
  return kernels;
}

bool ran(const CaseRecord& record) { return record.verdict.state != State::kSkipped; }
bool passed(const CaseRecord& record) { return record.verdict.state == State::kPassed; }

StateChange change_of(const CaseRecord* before, const CaseRecord& now) {
  return {.kernel = now.kernel,
          .line = now.line,
          .old_state = before ? before->verdict.state : State::kSkipped,
          .new_state = now.verdict.state,
          .reason = now.verdict.reason,
          .repro = now.repro};
}

/// log of the ratio of rms z of one tensor of one pair of cases, and its variance by the jackknife over
/// the tensor's batches: what the ratio changes by when one batch of both is left out. A kernel whose
/// every error grew by one factor has variance 0.
struct PairRatio {
  double log_ratio, variance;
  double elements = 0;
};

std::optional<PairRatio> ratio_of(const std::vector<double>& old_batches,
                                  const std::vector<double>& new_batches) {
  const auto n = std::ssize(old_batches);
  if (n < 2 || std::ssize(new_batches) != n) return std::nullopt;
  double old_sum = 0, new_sum = 0;
  for (std::ptrdiff_t i = 0; i < n; ++i) old_sum += old_batches[i], new_sum += new_batches[i];
  if (!(std::isfinite(old_sum) && std::isfinite(new_sum))) return std::nullopt;
  const auto log_ratio = [](double a, double b) { return 0.5 * std::log(b / a); };
  PairRatio ratio{log_ratio(old_sum, new_sum), 0};
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double a = old_sum - old_batches[i], b = new_sum - new_batches[i];
    if (!(a > 0 && b > 0)) return std::nullopt;  // an exact tensor has no ratio; its states speak
    const double difference = log_ratio(a, b) - ratio.log_ratio;
    ratio.variance += difference * difference;
  }
  ratio.variance *= double(n - 1) / double(n);
  return ratio;
}

/// The pairs of one kernel, dtype, tensor and recipe.
struct Group {
  std::vector<PairRatio> pairs;
  std::int64_t elements = 0;

  double sum_of_squares() const {
    double sum = 0;
    for (const auto& pair : pairs) sum += pair.log_ratio * pair.log_ratio;
    return sum;
  }

  /// `spread`: variance of the ratio of one pair that other groups of the tensor show. Errors of one
  /// tensor depend on each other, so that neither its batches nor few pairs tell how much a right
  /// kernel's error moves when inputs or the order of sums do; the other recipes do.
  ErrorChange change(double spread) const {
    ErrorChange change{.pairs = std::ssize(pairs), .elements = elements};
    const double n = double(pairs.size());
    double inside = 0, between = 0, parts = 0;
    const auto part = [&](const PairRatio& pair) { return pair.elements / double(elements); };
    for (const auto& pair : pairs) {
      change.log_ratio += part(pair) * pair.log_ratio;
      inside += part(pair) * part(pair) * pair.variance;
      parts += part(pair) * part(pair);
    }
    for (const auto& pair : pairs)
      between += std::pow(part(pair) * (pair.log_ratio - change.log_ratio), 2);
    if (pairs.size() > 1) between *= n / (n - 1);
    change.deviation = std::sqrt(std::max(inside, between) + spread * parts);
    return change;
  }
};

using Groups = std::map<std::tuple<std::string, std::string, std::string, std::string>, Group>;

/// Variance of the ratio of one pair that the other groups of a kernel's tensor show, about their mean: what
/// all of them moved by is no scatter. With the same inputs only those of another dtype and recipe count,
/// so that a change of one recipe in every dtype, or of one dtype in every recipe, does not hide itself.
double spread_around(const Groups::value_type& group, const Groups& groups, bool same_seeds) {
  const auto& [kernel, dtype, tensor, recipe] = group.first;
  double sum = 0, squares = 0, n = 0;
  for (const auto& [key, other] : groups) {
    if (std::get<0>(key) != kernel || std::get<2>(key) != tensor || key == group.first) continue;
    if (same_seeds && (std::get<1>(key) == dtype || std::get<3>(key) == recipe)) continue;
    for (const auto& pair : other.pairs) sum += pair.log_ratio, ++n;
    squares += other.sum_of_squares();
  }
  if (n > 1) return std::max(0.0, (squares - sum * sum / n) / (n - 1));
  return !same_seeds && std::ssize(group.second.pairs) < kFewPairs ? HUGE_VAL : 0;
}

/// The groups, and of runs on the same inputs those of all dtypes of a recipe together. With other inputs
/// its pairs are no independent ones: the dtypes are drawn alike.
Groups with_all_dtypes(const Groups& groups, bool same_seeds) {
  auto all = groups;
  if (!same_seeds) return all;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, int> dtypes;
  for (const auto& [key, group] : groups) {
    const auto& [kernel, dtype, tensor, recipe] = key;
    auto& sum = all[{kernel, kAllDtypes, tensor, recipe}];
    sum.pairs.insert(sum.pairs.end(), group.pairs.begin(), group.pairs.end());
    sum.elements += group.elements;
    ++dtypes[{kernel, kAllDtypes, tensor, recipe}];
  }
  for (const auto& [key, n] : dtypes)
    if (n == 1) all.erase(key);  // the same as its one dtype
  return all;
}

std::vector<ErrorChange> changes_of(const Groups& groups, bool same_seeds) {
  std::vector<ErrorChange> changes;
  for (const auto& entry : with_all_dtypes(groups, same_seeds)) {
    auto& change =
        changes.emplace_back(entry.second.change(spread_around(entry, groups, same_seeds)));
    change.same_seeds = same_seeds;
    std::tie(change.kernel, change.dtype, change.tensor, change.recipe) = entry.first;
  }
  std::ranges::stable_sort(changes, std::greater(), &ErrorChange::log_ratio);
  return changes;
}

void pair_tensors(const CaseRecord& before, const CaseRecord& now, Groups& groups) {
  for (const auto& old_tensor : before.verdict.tensors)
    for (const auto& new_tensor : now.verdict.tensors) {
      const auto &a = old_tensor.stats, &b = new_tensor.stats;
      if (a.name != b.name || a.count != b.count || old_tensor.leg != new_tensor.leg) continue;
      auto ratio = ratio_of(a.profile.batches, b.profile.batches);
      if (!ratio) continue;
      ratio->elements = double(b.count);
      auto& group = groups[{now.kernel, now.dtype, tensor_label(new_tensor), recipe_of(now.line)}];
      group.pairs.push_back(*ratio);
      group.elements += b.count;
    }
}

class Comparer {
 public:
  Comparer(const RunRecord& old_run, const RunRecord& new_run) {
    expect_whole("the old report", old_run);
    expect_whole("the new report", new_run);
    // A kernel that was renamed, alone in both runs, is compared with itself.
    const auto old_kernels = kernels_of(old_run), new_kernels = kernels_of(new_run);
    const bool by_kernel = old_kernels.size() != 1 || new_kernels.size() != 1;
    result_.same_seeds = old_run.seeds == new_run.seeds;
    old_ = cases_by_key(old_run, result_.same_seeds, by_kernel);
    new_ = cases_by_key(new_run, result_.same_seeds, by_kernel);
  }

  Comparison finish() {
    for (const auto& [key, now] : new_) compare_case(find(old_, key), *now);
    for (const auto& [key, before] : old_) {
      const auto* now = find(new_, key);
      if (ran(*before) && (!now || !ran(*now)))
        result_.missing.push_back(fmt::format("kernel={} {}", before->kernel, before->line));
    }
    if (result_.paired == 0) result_.faults.push_back("the reports have no case in common");
    result_.errors = changes_of(groups_, result_.same_seeds);
    for (auto& [kernel, time] : times_) result_.times.push_back(time);
    return std::move(result_);
  }

 private:
  static const CaseRecord* find(const Cases& cases, const Key& key) {
    const auto found = cases.find(key);
    return found == cases.end() ? nullptr : found->second;
  }

  void expect_whole(const char* which, const RunRecord& run) {
    if (run.cases.empty())
      result_.faults.push_back(fmt::format("{} holds no case", which));
    else if (!run.complete || run.shard.count != 1)
      result_.faults.push_back(fmt::format("{} is not whole: {} of {} cases, shard {} of {}", which,
                                           run.cases.size(), run.planned, run.shard.index + 1,
                                           run.shard.count));
  }

  void compare_case(const CaseRecord* before, const CaseRecord& now) {
    if (!ran(now)) return;
    const bool good = !is_bad(now);
    if (!before || !ran(*before)) {
      ++result_.added;
      if (!good) result_.new_failures.push_back(change_of(before, now));
      return;
    }
    ++result_.paired;
    if (!good)
      (passed(*before) ? result_.broken : result_.still_failing).push_back(change_of(before, now));
    if (passed(now) && !passed(*before)) result_.fixed.push_back(change_of(before, now));
    pair_tensors(*before, now, groups_);
    auto& time = times_[now.kernel];
    time.kernel = now.kernel, ++time.pairs;
    time.old_seconds += before->seconds, time.new_seconds += now.seconds;
  }

  Comparison result_;
  Cases old_, new_;
  Groups groups_;
  std::map<std::string, TimeChange> times_;
};

}  // namespace

double ErrorChange::ratio() const { return std::exp(log_ratio); }
double ErrorChange::low() const { return std::exp(log_ratio - kNormal95 * deviation); }
double ErrorChange::high() const { return std::exp(log_ratio + kNormal95 * deviation); }

bool ErrorChange::is_clear(const GateLimits& gate) const {
  return !(std::fabs(log_ratio) <= (same_seeds ? gate.deviations : gate.other_seeds) * deviation);
}

bool ErrorChange::is_regression(const GateLimits& gate) const {
  return elements >= gate.elements && !(ratio() <= gate.ratio) && is_clear(gate);
}

int Comparison::exit_code(const GateLimits& gate) const {
  if (paired == 0) return 3;
  const bool worse =
      std::ranges::any_of(errors, [&](const auto& e) { return e.is_regression(gate); });
  return worse || !faults.empty() || !broken.empty() || !new_failures.empty() || !missing.empty()
             ? 1
             : 0;
}

Comparison compare(const RunRecord& old_run, const RunRecord& new_run) {
  return Comparer(old_run, new_run).finish();
}

}  // namespace gdr2
