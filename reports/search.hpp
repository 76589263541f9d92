// SPDX-License-Identifier: Apache-2.0
// What searches found, as plain data: for each kernel what its cases went through, and every failure
// with its minimal case and the line that runs it again. Section "search" of a report.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gdr2 {

struct FindingRecord {
  std::string state, leg, law, reason;  ///< on the minimal case; no law: the judge
  std::string drawn;                    ///< the case as it was drawn
  std::string problem;                  ///< of the minimal case
  std::string line;                     ///< the minimal case: file= and options
  std::string repro;                    ///< the shell command that runs it
  std::int64_t chunks = 0, heads = 0, K = 0, V = 0;  ///< of the minimal case
  std::int64_t checks = 0;                           ///< spent on making it small
  bool replays = false;  ///< the saved file gives the same inputs and the same verdict, bit for bit
};

struct CoverageRecord {
  /// Quantity -> power of ten (exponents: of two) -> cases.
  std::map<std::string, std::map<int, std::int64_t>> cases;
  std::vector<std::int64_t> tails;   ///< lengths mod 64 that occurred
  std::vector<std::int64_t> groups;  ///< value heads a key head
  std::vector<std::string> recipes;
  std::int64_t recipes_known = 0;
  std::int64_t pairs = 0, pairs_known = 0;  ///< of values of two options
};

struct SearchRecord {
  std::string kernel, fault, kind;  ///< the fault planted in it and its kind, or ""
  std::uint64_t seed = 0;
  std::vector<std::string> dtypes;
  std::int64_t judged = 0, skipped = 0;
  double seconds = 0;
  CoverageRecord coverage;
  std::vector<FindingRecord> findings;
};

struct SearchStudy {
  std::vector<SearchRecord> searches;
};

/// Sizes of the first finding of each search: the middle one, and how many replay.
struct SmallCases {
  std::int64_t searches = 0, found = 0, replayed = 0;
  double chunks = 0, heads = 0, K = 0, V = 0;  ///< medians
};
SmallCases small_cases(const SearchStudy& study);

nlohmann::ordered_json search_to_json(const SearchStudy& study);

/// What one search went through, a line a quantity.
std::string coverage_text(const CoverageRecord& coverage);

}  // namespace gdr2
