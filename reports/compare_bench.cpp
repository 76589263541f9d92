// SPDX-License-Identifier: Apache-2.0
#include "reports/compare_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "reports/compare_words.hpp"

namespace gdr2 {
namespace {

constexpr double kConfidence = 0.95;

using Key = std::tuple<std::string, std::string, std::string>;  // kernel, case, pass
using Rows = std::map<Key, const BenchRow*>;

bool is_bad(const BenchRow& row) {
  return row.gate != State::kPassed && row.gate != State::kSkipped;
}

std::string name_of(const BenchRow& row) {
  return fmt::format("kernel={} {}  {}{}{}", row.kernel, row.line, row.pass,
                     row.reason.empty() ? "" : ": ", row.reason);
}

std::set<std::string> peers_of(const BenchRun& old_run, const BenchRun& new_run) {
  std::set<std::string> peers;
  for (const auto* run : {&old_run, &new_run})
    for (const auto& ratio : run->ratios) peers.insert(ratio.peer);
  return peers;
}

class Comparer {
 public:
  Comparer(const BenchRun& old_run, const BenchRun& new_run) : peers_(peers_of(old_run, new_run)) {
    expect_whole("the old report", old_run);
    expect_whole("the new report", new_run);
    // A kernel that was renamed, alone in both runs, is compared with itself.
    const auto old_own = own_kernels(old_run), new_own = own_kernels(new_run);
    by_kernel_ = old_own.size() != 1 || new_own.size() != 1;
    old_ = rows_of(old_run), new_ = rows_of(new_run);
  }

  BenchComparison finish() {
    for (const auto& [key, now] : new_) compare_row(find(old_, key), *now);
    for (const auto& [key, before] : old_) {
      const auto* now = find(new_, key);
      const bool ran = now && (!now->ms.empty() || is_bad(*now));
      if (!peers_.contains(before->kernel) && !before->ms.empty() && !ran)
        result_.missing.push_back(name_of(*before));
    }
    note_peers();
    if (result_.times.empty()) result_.faults.push_back("the reports have no time in common");
    std::ranges::stable_sort(result_.times, std::greater(),
                             [](const auto& t) { return t.time.ratio; });
    return std::move(result_);
  }

 private:
  static const BenchRow* find(const Rows& rows, const Key& key) {
    const auto found = rows.find(key);
    return found == rows.end() ? nullptr : found->second;
  }

  std::set<std::string> own_kernels(const BenchRun& run) const {
    std::set<std::string> kernels;
    for (const auto& row : run.rows)
      if (!peers_.contains(row.kernel)) kernels.insert(row.kernel);
    return kernels;
  }

  Rows rows_of(const BenchRun& run) const {
    Rows rows;
    for (const auto& row : run.rows)
      rows[{by_kernel_ || peers_.contains(row.kernel) ? row.kernel : "", row.line, row.pass}] =
          &row;
    return rows;
  }

  void expect_whole(const char* which, const BenchRun& run) {
    if (std::ranges::none_of(run.rows, [](const auto& row) { return !row.ms.empty(); }))
      result_.faults.push_back(fmt::format("{} holds no time", which));
    else if (!run.run.complete)
      result_.faults.push_back(fmt::format("{} is not whole: the run was interrupted", which));
  }

  void compare_row(const BenchRow* before, const BenchRow& now) {
    const bool is_peer = peers_.contains(now.kernel);
    if (!before || before->ms.empty()) {
      ++result_.added;
      if (is_bad(now) && !is_peer && (!before || !is_bad(*before)))
        result_.new_failures.push_back(name_of(now));
      return;
    }
    if (is_bad(now) && !is_peer) result_.broken.push_back(name_of(now));
    if (now.ms.empty()) return;
    if (before->device != now.device)
      result_.faults.push_back(fmt::format("{}: timed on {}, and before on {}", name_of(now),
                                           now.device, before->device));
    auto& change =
        result_.times.emplace_back(TimingChange{.kernel = now.kernel,
                                                .line = now.line,
                                                .pass = now.pass,
                                                .is_peer = is_peer,
                                                .old_ms = before->median_ms(),
                                                .new_ms = now.median_ms(),
                                                .time = time_ratio_of(before->ms, now.ms)});
    if (before->memory_bytes > 0 && now.memory_bytes > 0)
      change.memory_ratio = now.memory_bytes / before->memory_bytes;
    if (change.time.rounds < kGate.rounds && !is_peer)
      result_.faults.push_back(
          fmt::format("{}: {} rounds are too few", name_of(now), change.time.rounds));
  }

  /// Of the peers in the same case and pass the one that slowed down most.
  void note_peers() {
    for (auto& change : result_.times)
      for (const auto& other : result_.times) {
        if (change.is_peer || !other.is_peer || other.line != change.line ||
            other.pass != change.pass)
          continue;
        if (change.peer.empty() || other.time.ratio > change.peer_time.ratio)
          change.peer = other.kernel, change.peer_time = other.time;
      }
  }

  BenchComparison result_;
  std::set<std::string> peers_;
  bool by_kernel_ = true;
  Rows old_, new_;
};

std::string row_text(const TimingChange& c) {
  const bool clear = c.time.low > 1 || c.time.high < 1;
  const auto* word = !clear ? "same" : c.time.ratio > 1 ? "slower" : "faster";
  auto text = fmt::format(
      "  {:<24}  {:<17}  {:>9.4f} -> {:>9.4f} ms  {:.3f}x [{:.3f}, {:.3f}]  {:<6}", c.kernel,
      c.pass, c.old_ms, c.new_ms, c.time.ratio, c.time.low, c.time.high, word);
  if (c.is_peer) text += "  (peer)";
  if (!c.peer.empty()) text += fmt::format("  {} {:.3f}x", c.peer, c.peer_time.ratio);
  if (c.memory_ratio > 0 && c.memory_ratio != 1)
    text += fmt::format("  memory {:.3f}x", c.memory_ratio);
  if (c.is_regression())
    text += "  REGRESSION";
  else if (c.time.ratio > kGate.time_ratio && c.slower_with_its_peer())
    text += "  with its peer: the machine is slower";
  return text + fmt::format("\n    {}\n", c.line);
}

}  // namespace

TimeRatio time_ratio_of(const std::vector<double>& old_ms, const std::vector<double>& new_ms) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(old_ms.size(), new_ms.size()); ++i)
    ratios.push_back(new_ms[i] / old_ms[i]);
  const auto n = ratios.size();
  if (n == 0) return {};
  std::ranges::sort(ratios);
  // The true median lies outside the k-th smallest and k-th largest of n with probability
  // 2 sum_{i<k} C(n, i) / 2^n: the largest k for which that is small enough.
  std::size_t k = 1;
  double term = std::exp2(-double(n)), below = term, outside = 2 * below;
  for (std::size_t i = 1; i <= n / 2; ++i) {
    term *= double(n - i + 1) / double(i);
    below += term;
    if (!(2 * below <= 1 - kConfidence)) break;
    k = i + 1, outside = 2 * below;
  }
  return {.rounds = std::int64_t(n),
          .ratio = median_of(ratios),
          .low = ratios[k - 1],
          .high = ratios[n - k],
          .confidence = 1 - outside};
}

bool TimingChange::slower_with_its_peer(const GateLimits& gate) const {
  return !peer.empty() && peer_time.low > 1 && time.ratio / peer_time.ratio <= gate.time_ratio;
}

bool TimingChange::is_regression(const GateLimits& gate) const {
  return !is_peer && time.rounds >= gate.rounds && !(time.ratio <= gate.time_ratio) &&
         !(time.low <= 1) && !slower_with_its_peer(gate);
}

int BenchComparison::exit_code(const GateLimits& gate) const {
  if (times.empty() && broken.empty() && missing.empty()) return 3;
  const bool worse =
      std::ranges::any_of(times, [&](const auto& t) { return t.is_regression(gate); });
  return worse || !faults.empty() || !broken.empty() || !new_failures.empty() || !missing.empty()
             ? 1
             : 0;
}

BenchComparison compare(const BenchRun& old_run, const BenchRun& new_run) {
  return Comparer(old_run, new_run).finish();
}

std::string comparison_text(const BenchComparison& c) {
  auto text = fmt::format("{} times in both, {} only in the new report, {} only in the old one\n",
                          c.times.size(), c.added, c.missing.size());
  text += fault_rows(c.faults);
  text += name_rows("Broken: had a time", c.broken);
  text += name_rows("New rows that did not pass their gate", c.new_failures);
  text += name_rows("Missing: timed in the old report alone", c.missing);
  if (!c.times.empty())
    text += "\nTime, new over old: median of pairs of rounds with its confidence interval\n";
  for (const auto& change : c.times) text += row_text(change);
  const auto regressions =
      std::ranges::count_if(c.times, [](const auto& t) { return t.is_regression(); });
  text += fmt::format("\n{}: {} broken, {} new failures, {} missing, {} slower\n",
                      outcome_of(c.exit_code()), c.broken.size(), c.new_failures.size(),
                      c.missing.size(), regressions);
  return text;
}

}  // namespace gdr2
