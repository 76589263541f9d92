// SPDX-License-Identifier: Apache-2.0
// One search from its beginning to its record: runs it, saves what it found, replays what it saved.
#pragma once

#include <string>

#include "properties/power/fault.hpp"
#include "properties/search/search.hpp"
#include "reports/search.hpp"

namespace gdr2 {

struct Hunter {
  const Kernel& kernel;
  const power::Fault* fault = nullptr;  ///< planted in it; nullptr: none known
  std::string name;                     ///< what a command calls it
};

/// Minimal cases go to files in `folder`, which is made when there is one.
SearchRecord search_and_save(const Hunter& hunter, const search::Options& options,
                             const search::GoOn& go_on, const std::string& folder);

/// What was found, for people: the verdict, the case as drawn and made small, how to run it.
std::string finding_text(const FindingRecord& finding);

}  // namespace gdr2
