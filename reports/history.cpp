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
#include "reports/report_file.hpp"

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
    text += std::isnan(x) ? "." : !std::isfinite(x) ? "!" : levels[std::size_t(std::lround(height * 7))];
  }
  return text;
}

std::string trend_row(const Trends::value_type& entry) {
  const auto& [key, trend] = entry;
  std::vector<double> finite;
  std::ranges::copy_if(trend, std::back_inserter(finite), [](double x) { return std::isfinite(x); });
  if (finite.empty()) return "";
  const auto [least, largest] = std::ranges::minmax(finite);
  return fmt::format("{:<16}  {:<5}  {:<7}  {:>6.3f}  {:>6.3f}  {:>+7.1f} %  {:>6.3f}  {:>6.3f}  {}\n",
                     std::get<0>(key), std::get<1>(key), std::get<2>(key), finite.front(),
                     finite.back(), finite.front() > 0 ? 100 * (finite.back() / finite.front() - 1) : 0,
                     least, largest, marks(trend, least, largest));
}

}  // namespace

std::vector<RunRecord> read_history(const std::string& folder, std::vector<std::string>& others) {
  if (!std::filesystem::is_directory(folder)) fail("{}: is not a folder", folder);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<RunRecord> runs;
  for (const auto& file : files) try {
      runs.push_back(read_report(file));
    } catch (const Error& error) {
      others.push_back(error.what());
    }
  std::ranges::stable_sort(runs, {}, &RunRecord::started);
  return runs;
}

std::string history_text(const std::vector<RunRecord>& runs) {
  auto text = fmt::format("{:<20}  {:<11}  {:>5}  {:>8}  {}\n", "started", "sources", "cases", "seconds", "states");
  for (const auto& run : runs)
    text += fmt::format("{:<20}  {:<10}{}  {:>5}  {:>8.1f}  {}{}\n", run.started, run.git_sha.substr(0, 10),
                        run.git_dirty ? "+" : " ", run.cases.size(), run.seconds,
                        run.cases.empty() ? "nothing ran" : state_counts(run),
                        run.complete ? "" : ", interrupted");
  const auto trends = trends_of(runs);
  if (trends.empty()) return text;
  text += fmt::format("\nrms z over all elements\n{:<16}  {:<5}  {:<7}  {:>6}  {:>6}  {:>9}  {:>6}  {:>6}  {}\n",
                      "kernel", "dtype", "tensor", "first", "last", "change", "least", "most", "trend");
  for (const auto& entry : trends) text += trend_row(entry);
  return text;
}

}  // namespace gdr2
