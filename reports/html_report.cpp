// SPDX-License-Identifier: Apache-2.0
#include "reports/html_report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "reference/error.hpp"
#include "reports/accuracy.hpp"
#include "reports/features.hpp"
#include "reports/html_page.hpp"
#include "reports/record_json.hpp"

namespace gdr2 {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kDetailedCases =
    200;  ///< not passed, with every figure; the others in the table

/// A figure to look at: 4 digits; not finite as a word.
Json figure(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, x, std::chars_format::general, 4).ptr;
  std::from_chars(text, end, x);
  if (x == std::floor(x) && std::fabs(x) < 1e6) return std::int64_t(x);
  return x;
}

/// Strings by number: a page of 10 000 cases names each kernel once.
class Words {
 public:
  std::size_t operator()(const std::string& word) {
    const auto [entry, is_new] = numbers_.try_emplace(word, list_.size());
    if (is_new) list_.push_back(word);
    return entry->second;
  }
  const Json& list() const { return list_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  Json list_ = Json::array();
};

/// [name, state, max_z, rms_z, rel_norm, max_ulp, elements that are not finite]
Json tensor_row(const TensorVerdict& tensor, Words& words) {
  const auto& s = tensor.stats;
  return {words(tensor_label(tensor)),
          words(to_string(tensor.state)),
          figure(s.max_z),
          figure(s.rms_z),
          figure(s.rel_norm),
          figure(s.max_ulp),
          s.nan + s.inf + s.missing};
}

/// The note of the case, and how its judging went where it was not as usual.
std::string all_notes(const CaseRecord& record) {
  auto text = record.note;
  for (const auto& note : record.verdict.notes) text += (text.empty() ? "" : ". ") + note;
  return text;
}

/// The members of a row are named in reports/html/src/data.js.
Json case_row(const CaseRecord& record, Words& words) {
  const auto& verdict = record.verdict;
  auto tensors = Json::array();
  for (const auto& tensor : verdict.tensors) tensors.push_back(tensor_row(tensor, words));
  const bool passed = verdict.state == State::kPassed;
  return {record.index,
          words(record.kernel),
          words(record.dtype),
          words(to_string(verdict.state)),
          record.line,
          figure(record.seconds),
          figure(verdict.difficulty.decay_span),
          figure(verdict.difficulty.condition),
          words(record.contract),
          words(all_notes(record)),
          words(record.waiver),
          passed ? "" : verdict.leg,
          passed ? "" : verdict.reason,
          record.repro,
          std::move(tensors)};
}

/// The tensors that failed, and those that it is the worst case of; figures of its legs, and its diagnosis.
Json detail_of(const CaseRecord& record, const std::set<std::string>& worst_of) {
  auto detail = case_to_json(record)["verdict"];
  auto tensors = Json::array();
  for (std::size_t i = 0; i < record.verdict.tensors.size(); ++i) {
    const auto label = tensor_label(record.verdict.tensors[i]);
    if (record.verdict.tensors[i].state == State::kPassed && !worst_of.contains(label)) continue;
    auto& tensor = tensors.emplace_back(std::move(detail["tensors"][i]));
    tensor["name"] = label;
    for (const char* pooled : {"histogram", "growth_z", "growth_rel", "batches"})
      tensor.erase(pooled);
  }
  Json kept{{"tensors", std::move(tensors)}, {"figures", detail["figures"]}};
  if (detail.contains("diagnosis")) kept["diagnosis"] = detail["diagnosis"];
  return kept;
}

/// Failures and the worst of what passed with all that is known of them.
Json details_of(const RunRecord& run) {
  std::map<std::int64_t, std::set<std::string>> worst;
  for (const auto& row : accuracy_of(run)) worst[row.worst_case].insert(row.tensor);
  auto details = Json::object();
  std::size_t failures = 0;
  for (const auto& record : run.cases) {
    const bool failed =
        record.verdict.state != State::kPassed && record.verdict.state != State::kSkipped;
    if (worst.contains(record.index) || (failed && ++failures <= kDetailedCases))
      details[std::to_string(record.index)] = detail_of(record, worst[record.index]);
  }
  return details;
}

/// The largest figure of each leg, as a part of what is allowed, by kernel and dtype.
Json leg_rows(const RunRecord& run) {
  std::map<std::tuple<std::string, std::string, std::string>, std::pair<Figure, std::int64_t>>
      largest;
  const auto part = [](const Figure& f) { return f.allowed > 0 ? f.value / f.allowed : 0; };
  for (const auto& record : run.cases)
    for (const auto& figure : record.verdict.figures) {
      auto& kept = largest[{record.kernel, record.dtype, figure.leg}];
      if (kept.first.leg.empty() || !(part(figure) <= part(kept.first)))
        kept = {figure, record.index};
    }
  auto rows = Json::array();
  for (const auto& [key, kept] : largest)
    rows.push_back({{"kernel", std::get<0>(key)},
                    {"dtype", std::get<1>(key)},
                    {"leg", std::get<2>(key)},
                    {"value", figure(kept.first.value)},
                    {"allowed", figure(kept.first.allowed)},
                    {"what", kept.first.what},
                    {"worst_case", kept.second}});
  return rows;
}

Json accuracy_rows(const RunRecord& run) {
  auto rows = Json::array();
  for (const auto& row : accuracy_of(run))
    rows.push_back(
        {{"kernel", row.kernel},
         {"dtype", row.dtype},
         {"tensor", row.tensor},
         {"cases", row.cases},
         {"bad", row.bad},
         {"elements", row.elements},
         {"max_z", row.all_finite ? figure(row.max_z) : Json(row.has_nan ? "nan" : "inf")},
         {"rms_z", figure(row.pooled_z)},
         {"rel_norm", figure(row.rel_norm)},
         {"max_ulp", figure(row.max_ulp)},
         {"worst_case", row.worst_case},
         {"histogram", row.histogram}});
  return rows;
}

/// Growth of the error along the tokens, by kernel, dtype and tensor: the median and the largest over
/// the cases, by block of tokens.
Json growth_rows(const RunRecord& run) {
  struct Samples {
    std::vector<std::vector<double>> z, rel;  ///< [block][case]
  };
  std::map<std::tuple<std::string, std::string, std::string>, Samples> groups;
  const auto add = [](std::vector<std::vector<double>>& blocks, const std::vector<double>& growth) {
    if (blocks.size() < growth.size()) blocks.resize(growth.size());
    for (std::size_t i = 0; i < growth.size(); ++i)
      if (std::isfinite(growth[i])) blocks[i].push_back(growth[i]);
  };
  for (const auto& record : run.cases)
    for (const auto& tensor : record.verdict.tensors) {
      const auto& profile = tensor.stats.profile;
      if (profile.growth_z.empty()) continue;
      auto& group = groups[{record.kernel, record.dtype, tensor_label(tensor)}];
      add(group.z, profile.growth_z);
      add(group.rel, profile.growth_rel);
    }
  const auto median = [](std::vector<double>& x) {
    if (x.empty()) return Json(nullptr);
    std::ranges::nth_element(x, x.begin() + std::ptrdiff_t(x.size() / 2));
    return figure(x[x.size() / 2]);
  };
  const auto largest = [](const std::vector<double>& x) {
    return x.empty() ? Json(nullptr) : figure(*std::ranges::max_element(x));
  };
  auto rows = Json::array();
  for (auto& [key, group] : groups) {
    Json row{
        {"kernel", std::get<0>(key)}, {"dtype", std::get<1>(key)}, {"tensor", std::get<2>(key)}};
    for (auto& block : group.z) {
      row["max_z"].push_back(largest(block));
      row["median_z"].push_back(median(block));
    }
    for (auto& block : group.rel) {
      row["max_rel"].push_back(largest(block));
      row["median_rel"].push_back(median(block));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Of every kernel and feature, how many cases passed, did not, and were skipped.
Json feature_rows(const RunRecord& run) {
  struct Tally {
    std::int64_t passed = 0, failed = 0, skipped = 0;
    std::string reason;  ///< of the first skip
  };
  std::map<std::pair<int, std::string>, Tally> tallies;
  for (const auto& record : run.cases)
    for (const int feature : features_of(record.line)) {
      auto& tally = tallies[{feature, record.kernel}];
      const auto state = record.verdict.state;
      tally.passed += state == State::kPassed;
      tally.skipped += state == State::kSkipped;
      tally.failed += state != State::kPassed && state != State::kSkipped;
      if (state == State::kSkipped && tally.reason.empty()) tally.reason = record.verdict.reason;
    }
  auto rows = Json::array();
  for (std::size_t i = 0; i < features().size(); ++i) {
    auto kernels = Json::object();
    for (const auto& [key, tally] : tallies)
      if (key.first == int(i))
        kernels[key.second] = {tally.passed, tally.failed, tally.skipped, tally.reason};
    rows.push_back(
        {{"group", features()[i].group}, {"name", features()[i].name}, {"kernels", kernels}});
  }
  return rows;
}

}  // namespace

void expect_html_page() {
  if (kHtmlPage.empty())
    fail(
        "--html: this gdr2 was built without the page of the report: install nodejs and npm, "
        "configure "
        "again with -DGDR2_HTML=ON, and build");
}

std::string page_data(const RunRecord& run, const Studies& studies) {
  Words words;
  auto cases = Json::array();
  for (const auto& record : run.cases) cases.push_back(case_row(record, words));
  const Json data{{"run", head_to_json(run)},
                  {"exit_code", exit_code(run, false)},
                  {"bins_per_z", kBinsPerZ},
                  {"words", words.list()},
                  {"cases", std::move(cases)},
                  {"details", details_of(run)},
                  {"accuracy", accuracy_rows(run)},
                  {"legs", leg_rows(run)},
                  {"growth", growth_rows(run)},
                  {"features", feature_rows(run)},
                  {"studies", studies}};
  auto text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (auto at = text.find("</"); at != std::string::npos; at = text.find("</", at))
    text.replace(at, 2, "<\\/");  // nothing in the data ends the script that holds them
  for (auto at = text.find("<!--"); at != std::string::npos; at = text.find("<!--", at))
    text.replace(at, 4, "\\u003c!--");
  return text;
}

std::string html_report(const RunRecord& run, const Studies& studies) {
  expect_html_page();
  std::string page(kHtmlPage);
  return page.replace(page.find(kPagePlaceholder), kPagePlaceholder.size(),
                      page_data(run, studies));
}

}  // namespace gdr2
