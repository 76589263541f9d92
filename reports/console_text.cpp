// SPDX-License-Identifier: Apache-2.0
#include "reports/console_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "reports/accuracy.hpp"

namespace gdr2 {
namespace {

constexpr const char* kRow = "{}  {:<14}  {:<5}  {:<7}{:>7}  {:>8}  {:>8}  {}\n";

/// The state padded to its column, coloured on a terminal.
std::string state_word(State state, Color color) {
  const auto word = fmt::format("{:<10}", to_string(state));
  if (color == Color::kNever) return word;
  const bool mild = state == State::kMistrusted || state == State::kSkipped;
  const int code = state == State::kPassed ? 32 : mild ? 33 : 31;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, word);
}

std::string z_of(const ErrorStats& s) { return z_text(s.max_z, s.nan > 0, s.all_finite()); }

/// The tensor to show for a case: not passed before passed, not finite before finite, then by z and
/// by norm.
const TensorVerdict* worst_tensor(const Verdict& verdict) {
  const auto key = [](const TensorVerdict& t) {
    return std::tuple(t.state != State::kPassed, !t.stats.all_finite(), t.stats.max_z,
                      t.stats.rel_norm);
  };
  const auto worst = std::ranges::max_element(verdict.tensors, {}, key);
  return worst == verdict.tensors.end() ? nullptr : &*worst;
}

std::string tensor_header() {
  return fmt::format("    {:<7}  {:<10}  {:>7}  {:>6}  {:>8}  {:>8}  {:>8}\n", "tensor", "state",
                     "max z", "rms z", "rel norm", "max abs", "max ulp");
}

std::string tensor_row(const TensorVerdict& tensor, Color color) {
  const auto& s = tensor.stats;
  auto row = fmt::format("    {:<7}  {}  {:>7}  {:>6.2f}  {:>8.1e}  {:>8.1e}  {:>8.3g}",
                         tensor.leg == "local" ? fmt::format("{} *", to_string(s.name))
                                               : std::string(to_string(s.name)),
                         state_word(tensor.state, color), z_of(s), s.rms_z, s.rel_norm, s.max_abs,
                         s.max_ulp);
  if (!s.all_finite())
    row += fmt::format("  of {}: {} NaN, {} infinite, {} unlike a reference that is not finite",
                       s.count, s.nan, s.inf, s.missing);
  if (tensor.leg == "local") row += "  * chunk by chunk";
  return row + "\n";
}

/// Decimals to read, hexadecimal to have the bits.
std::string element_block(const Element& e) {
  return fmt::format(
      "        {:<28} z {:.2f}\n"
      "            value      {:>16.9g}  {:a}\n"
      "            reference  {:>16.9g}  {:a}\n"
      "            sigma      {:>16.9g}  {:a}\n",
      e.where, e.z, e.value, e.value, e.reference, e.reference, e.sigma, e.sigma);
}

/// Largest figures of one tensor name in one dtype over the cases of a run.
struct Group {
  int cases = 0, bad = 0;
  bool has_nan = false, all_finite = true;
  double max_z = 0, rms_z = 0, rel_norm = 0, max_ulp = 0;
};

std::string error_table(const RunRecord& run) {
  std::map<std::pair<std::string, Name>, Group> groups;
  for (const auto& record : run.cases)
    for (const auto& tensor : record.verdict.tensors) {
      const auto& s = tensor.stats;
      if (is_stage(s.name) || tensor.leg != "global") continue;
      auto& group = groups[{record.dtype, s.name}];
      ++group.cases;
      group.bad += tensor.state != State::kPassed;
      group.has_nan |= s.nan > 0;
      group.all_finite &= s.all_finite();
      group.max_z = std::max(group.max_z, s.max_z);
      group.rms_z = std::max(group.rms_z, s.rms_z);
      group.rel_norm = std::max(group.rel_norm, s.rel_norm);
      group.max_ulp = std::max(group.max_ulp, s.max_ulp);
    }
  if (groups.empty()) return "";
  auto text = fmt::format(
      "\nLargest error by dtype and tensor\n{:<5}  {:<7}  {:>5}  {:>5}  {:>8}  {:>6}  {:>8}  "
      "{:>8}\n",
      "dtype", "tensor", "cases", "bad", "max z", "rms z", "rel norm", "max ulp");
  for (const auto& [key, g] : groups)
    text += fmt::format("{:<5}  {:<7}  {:>5}  {:>5}  {:>8}  {:>6.2f}  {:>8.1e}  {:>8.3g}\n",
                        key.first, to_string(key.second), g.cases, g.bad,
                        z_text(g.max_z, g.has_nan, g.all_finite), g.rms_z, g.rel_norm, g.max_ulp);
  return text;
}

/// The largest figure of each leg by dtype, as a part of what is allowed.
std::string figure_table(const RunRecord& run) {
  std::map<std::pair<std::string, std::string>, Figure> largest;
  const auto part = [](const Figure& f) { return f.allowed > 0 ? f.value / f.allowed : 0; };
  for (const auto& record : run.cases)
    for (const auto& figure : record.verdict.figures) {
      auto& kept = largest[{record.dtype, figure.leg}];
      if (kept.leg.empty() || part(figure) > part(kept)) kept = figure;
    }
  if (largest.empty()) return "";
  auto text = fmt::format("\nLargest figure by dtype and leg\n{:<5}  {:<10}  {:>8}  {:>8}  of\n",
                          "dtype", "leg", "value", "allowed");
  for (const auto& [key, f] : largest)
    text += fmt::format("{:<5}  {:<10}  {:>8.3g}  {:>8.3g}  {}\n", key.first, key.second, f.value,
                        f.allowed, f.what);
  return text;
}

std::string diagnosis_text(const Diagnosis& d) {
  std::string text = fmt::format("    where      {}\n", d.where);
  if (!d.stage.empty()) text += fmt::format("    stage      {}\n", d.stage);
  if (!d.site.empty())
    text += fmt::format("    looks like {} (correlation {:.2f})\n", d.site, d.likeness);
  if (d.variance.empty()) return text;
  text += "    sigma^2    ";
  for (const auto& [name, share] : d.variance)
    text += fmt::format("{}{:.0f} % {}", &name == &d.variance.front().name ? "" : ", ", 100 * share,
                        name);
  return text + "\n";
}

}  // namespace

std::string table_header() {
  return fmt::format(fmt::runtime(kRow), fmt::format("{:<10}", "state"), "kernel", "dtype", "worst",
                     "max z", "rel norm", "time", "case");
}

std::string table_row(const CaseRecord& record, Color color) {
  const auto* worst = worst_tensor(record.verdict);
  return fmt::format(fmt::runtime(kRow), state_word(record.verdict.state, color), record.kernel,
                     record.dtype, worst ? to_string(worst->stats.name) : "",
                     worst ? z_of(worst->stats) : "",
                     worst ? fmt::format("{:.1e}", worst->stats.rel_norm) : "",
                     fmt::format("{:.2f} s", record.seconds), record.line);
}

std::string details(const CaseRecord& record, bool verbose, Color color) {
  const auto& verdict = record.verdict;
  std::string text;
  if (!verdict.reason.empty())
    text +=
        fmt::format("    {}{}{}\n", verdict.leg, verdict.leg.empty() ? "" : ": ", verdict.reason);
  if (is_bad(record)) text += fmt::format("    {}\n", record.repro);
  if (!record.waiver.empty()) text += fmt::format("    waived: {}\n", record.waiver);
  if (!record.note.empty()) text += fmt::format("    {}\n", record.note);
  for (const auto& note : verdict.notes) text += fmt::format("    {}\n", note);
  if (!record.contract.empty() && (is_bad(record) || verbose))
    text += fmt::format("    contract {}\n", record.contract);
  if (verdict.diagnosis) text += diagnosis_text(*verdict.diagnosis);
  if (verbose)
    for (const auto& f : verdict.figures)
      text += fmt::format("    {:<10} {:.3g} of {:.3g} allowed: {}\n", f.leg, f.value, f.allowed,
                          f.what);
  std::string tensors;
  for (const auto& tensor : verdict.tensors) {
    const bool passed = tensor.state == State::kPassed;
    if (passed && !verbose) continue;
    tensors += tensor_row(tensor, color);
    if (passed) continue;
    if (tensor.reason != verdict.reason) tensors += fmt::format("        {}\n", tensor.reason);
    for (const auto& element : tensor.stats.worst) tensors += element_block(element);
  }
  return tensors.empty() ? text : text + tensor_header() + tensors;
}

std::string summary(const RunRecord& run, Color color) {
  auto text = error_table(run) + figure_table(run);
  text += fmt::format("\n{} cases in {:.1f} s: {}\n", run.cases.size(), run.seconds,
                      run.cases.empty() ? "nothing ran" : state_counts(run));
  if (!run.complete)
    text += fmt::format("Interrupted: {} of {} cases done\n", run.cases.size(), run.planned);
  for (const auto& record : run.cases)
    if (is_bad(record))
      text += fmt::format("{}  {}\n", state_word(record.verdict.state, color), record.repro);
  return text;
}

}  // namespace gdr2
