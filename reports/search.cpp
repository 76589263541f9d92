// SPDX-License-Identifier: Apache-2.0
#include "reports/search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gdr2 {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const FindingRecord& f) {
  return {{"state", f.state},     {"leg", f.leg},   {"law", f.law},     {"reason", f.reason},
          {"drawn", f.drawn},     {"problem", f.problem}, {"line", f.line}, {"repro", f.repro},
          {"chunks", f.chunks},   {"heads", f.heads}, {"K", f.K},       {"V", f.V},
          {"checks", f.checks},   {"replays", f.replays}};
}

Json to_json(const CoverageRecord& c) {
  Json cases = Json::object();
  for (const auto& [quantity, bins] : c.cases) {
    cases[quantity] = Json::object();
    for (const auto& [bin, count] : bins) cases[quantity][std::to_string(bin)] = count;
  }
  return {{"cases", cases},
          {"tails", c.tails},
          {"groups", c.groups},
          {"recipes", c.recipes},
          {"recipes_known", c.recipes_known},
          {"pairs", c.pairs},
          {"pairs_known", c.pairs_known}};
}

Json to_json(const SearchRecord& s) {
  Json json{{"kernel", s.kernel},   {"fault", s.fault},     {"kind", s.kind},
            {"seed", s.seed},       {"dtypes", s.dtypes},   {"judged", s.judged},
            {"skipped", s.skipped}, {"seconds", s.seconds}, {"coverage", to_json(s.coverage)},
            {"findings", Json::array()}};
  for (const auto& finding : s.findings) json["findings"].push_back(to_json(finding));
  return json;
}

double median(std::vector<std::int64_t> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto n = values.size();
  return (double(values[(n - 1) / 2]) + double(values[n / 2])) / 2;
}

}  // namespace

SmallCases small_cases(const SearchStudy& study) {
  SmallCases small{.searches = std::ssize(study.searches)};
  std::vector<std::int64_t> chunks, heads, K, V;
  for (const auto& search : study.searches) {
    if (search.findings.empty()) continue;
    const auto& first = search.findings.front();
    ++small.found;
    small.replayed += first.replays;
    chunks.push_back(first.chunks), heads.push_back(first.heads);
    K.push_back(first.K), V.push_back(first.V);
  }
  small.chunks = median(chunks), small.heads = median(heads);
  small.K = median(K), small.V = median(V);
  return small;
}

Json search_to_json(const SearchStudy& study) {
  const auto small = small_cases(study);
  Json json{{"small",
             {{"searches", small.searches},
              {"found", small.found},
              {"replayed", small.replayed},
              {"median", {{"chunks", small.chunks}, {"heads", small.heads}, {"K", small.K}, {"V", small.V}}}}},
            {"searches", Json::array()}};
  for (const auto& search : study.searches) json["searches"].push_back(to_json(search));
  return json;
}

std::string coverage_text(const CoverageRecord& c) {
  std::string text;
  for (const auto& [quantity, bins] : c.cases) {
    text += fmt::format("{:<24}", quantity);
    for (const auto& [bin, count] : bins)
      text += fmt::format("  {}{}: {}", quantity == "powers of two" ? "" : "1e", bin, count);
    text += '\n';
  }
  return text + fmt::format(
                    "{:<24}  {} of 64\n{:<24}  {}\n{:<24}  {} of {}\n{:<24}  {} of {}\n", "T mod 64",
                    c.tails.size(), "HV / H", fmt::join(c.groups, " "), "recipes", c.recipes.size(),
                    c.recipes_known, "pairs of options", c.pairs, c.pairs_known);
}

}  // namespace gdr2
