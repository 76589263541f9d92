// SPDX-License-Identifier: Apache-2.0
// Draws cases without end, holds a kernel to the judge and to a law on each (on its forward, where it has no
// backward), and makes what fails small. What it finds is a case with values in memory; save_finding makes a file of it that every
// command takes, for ever.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernel.hpp"
#include "properties/search/coverage.hpp"
#include "reference/verdict.hpp"

namespace gdr2::search {

struct Finding {
  Case origin;      ///< as it was drawn
  Case minimal;     ///< values in memory
  Verdict verdict;  ///< on the minimal case
  std::string law;  ///< the law that broke; empty: the judge
  int evaluations = 0;
};

struct Options {
  std::uint64_t seed = 1;
  std::vector<Format> dtypes{Format::kF32, Format::kTF32, Format::kBF16, Format::kF16};
  int budget = 600;   ///< checks spent on making one failing case small
  int findings = 3;   ///< the search ends with so many
};

/// Asked before each case: go on? Given the cases done and findings so far.
using GoOn = std::function<bool(std::int64_t done, const std::vector<Finding>& findings)>;

struct Outcome {
  std::int64_t judged = 0, skipped = 0;
  std::vector<Finding> findings;
  Coverage coverage;
};

Outcome search(const Kernel& kernel, const Options& options, const GoOn& go_on);

/// The verdict of the judge or of a law, as a search asks for it: elements alone, no statistics.
Verdict examine(const Kernel& kernel, const Case& c, const std::string& law);

/// Makes a failing case small; it still fails by the same leg of the judge, or the same law.
Finding minimize(const Kernel& kernel, const Case& c, const Verdict& verdict,
                 const std::string& law, int budget);

/// Writes the minimal case as activations (docs/FILES.md), with `info` beside it, and gives the line of
/// the case. The file's name is made of the words in `name` and a hash of the content.
std::string save_finding(const Finding& finding, const std::filesystem::path& folder,
                         const std::string& name, std::map<std::string, std::string> info);

/// Whether the saved case has the bits of the minimal one and the kernel fails on it in the same words.
bool replays(const Kernel& kernel, const Finding& finding, const std::string& line);

}  // namespace gdr2::search
