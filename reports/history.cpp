// SPDX-License-Identifier: Apache-2.0
#include "reports/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <tuple>

#include "reference/error.hpp"
#include "reports/accuracy.hpp"
#include "reports/json_file.hpp"
#include "reports/report_file.hpp"
#include "reports/report_kind.hpp"

namespace gdr2 {
namespace {

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMarks = 24;  ///< of a trend; of more runs the last

using Trends = std::map<std::tuple<std::string, std::string, std::string>, std::vector<double>>;

Trends trends_of(const std::vector<RunRecord>& runs) {
  Trends trends;
  for (std::size_t i = 0; i < runs.size(); ++i)
    for (const auto& row : accuracy_of(runs[i])) {
      auto& trend = trends[{row.kernel, row.dtype, row.tensor}];
      trend.resize(runs.size(), kAbsent);
      trend[i] = row.all_finite ? row.pooled_z : std::numeric_limits<double>::infinity();
    }
  return trends;
}

/// A mark a run, from the least to the largest of them; '.' where there is none, '!' where it is not finite.
std::string marks(const std::vector<double>& trend, double least, double largest) {
  constexpr std::array<const char*, 8> levels{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (auto i = trend.size() > kMarks ? trend.size() - kMarks : 0; i < trend.size(); ++i) {
    const double x = trend[i];
    const double height = largest > least ? (x - least) / (largest - least) : 0;
    text += std::isnan(x)       ? "."
            : !std::isfinite(x) ? "!"
                                : levels[std::size_t(std::lround(height * 7))];
  }
  return text;
}

/// From the first to the last run that has the figure; "" when none has.
std::string trend_text(const std::vector<double>& trend) {
  std::vector<double> finite;
  std::ranges::copy_if(trend, std::back_inserter(finite),
                       [](double x) { return std::isfinite(x); });
  if (finite.empty()) return "";
  const auto [least, largest] = std::ranges::minmax(finite);
  const double change = finite.front() > 0 ? 100 * (finite.back() / finite.front() - 1) : 0;
  return fmt::format("{:>8.4f}  {:>8.4f}  {:>+7.1f} %  {:>8.4f}  {:>8.4f}  {}", finite.front(),
                     finite.back(), change, least, largest, marks(trend, least, largest));
}

constexpr const char* kTrendHead = "   first      last     change     least      most  trend";

std::string run_rows(const std::vector<RunRecord>& runs) {
  auto text = fmt::format("{:<20}  {:<11}  {:>5}  {:>8}  {}\n", "started", "sources", "cases",
                          "seconds", "states");
  for (const auto& run : runs)
    text += fmt::format("{:<20}  {:<10}{}  {:>5}  {:>8.1f}  {}{}\n", run.started,
                        run.git_sha.substr(0, 10), run.git_dirty ? "+" : " ", run.cases.size(),
                        run.seconds, run.cases.empty() ? "nothing ran" : state_counts(run),
                        run.complete ? "" : ", interrupted");
  const auto trends = trends_of(runs);
  if (trends.empty()) return text;
  text += fmt::format("\nrms z over all elements\n{:<16}  {:<5}  {:<7}  {}\n", "kernel", "dtype",
                      "tensor", kTrendHead);
  for (const auto& [key, trend] : trends)
    if (const auto figures = trend_text(trend); !figures.empty())
      text += fmt::format("{:<16}  {:<5}  {:<7}  {}\n", std::get<0>(key), std::get<1>(key),
                          std::get<2>(key), figures);
  return text;
}

std::string bench_rows(const std::vector<BenchRun>& benches) {
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<double>> trends;
  for (std::size_t i = 0; i < benches.size(); ++i)
    for (const auto& row : benches[i].rows) {
      auto& trend = trends[{row.kernel, row.pass, row.line}];
      trend.resize(benches.size(), kAbsent);
      if (!row.ms.empty()) trend[i] = row.median_ms();
    }
  auto text = fmt::format("Median times of {} runs, ms\n{:<24}  {:<17}  {}  case\n", benches.size(),
                          "kernel", "pass", kTrendHead);
  for (const auto& [key, trend] : trends)
    if (const auto figures = trend_text(trend); !figures.empty())
      text += fmt::format("{:<24}  {:<17}  {}  {}\n", std::get<0>(key), std::get<1>(key), figures,
                          std::get<2>(key));
  return text;
}

void read_into(History& history, const std::filesystem::path& file) {
  if (kind_of_report(file) != ReportKind::kBench) return history.runs.push_back(read_report(file));
  const auto json = read_json(file);
  history.benches.push_back(bench_from_json({json, file.string()}));
}

}  // namespace

History read_history(const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) fail("{}: is not a folder", folder);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  History history;
  for (const auto& file : files) try {
      read_into(history, file);
    } catch (const Error& error) {
      history.others.push_back(error.what());
    }
  std::ranges::stable_sort(history.runs, {}, &RunRecord::started);
  std::ranges::stable_sort(history.benches, {},
                           [](const BenchRun& bench) { return bench.run.started; });
  return history;
}

std::string history_text(const History& history) {
  std::string text;
  if (!history.runs.empty()) text += run_rows(history.runs);
  if (history.benches.empty()) return text;
  if (!text.empty()) text += '\n';
  text += bench_rows(history.benches);
  return text;
}

}  // namespace gdr2
