// SPDX-License-Identifier: Apache-2.0
// What a run found, as plain data: the one thing that every sink, comparison and history reads.
// Knows nothing of kernels, tensors or how a verdict is reached. The JSON form of these records is
// described by reports/schema/report.schema.json.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "reference/verdict.hpp"

namespace gdr2 {

struct CaseRecord {
  std::int64_t index = 0;  ///< place in the plan of the whole run, from 0
  std::string kernel;
  std::string line;      ///< problem and recipe or file; the kernel is not in it
  std::string dtype;     ///< of the matrix products: "bf16", "tf32" ...
  std::string contract;  ///< the rounding sites that the verdict assumed
  std::string repro;     ///< the shell command that runs this case alone
  std::string waiver;  ///< why it may fail, from the waivers file (reports/waivers.hpp); mostly ""
  std::string note;    ///< what else to know, e.g. whose results were recorded; mostly ""
  Verdict verdict;
  double seconds = 0;
};

/// A part of a plan: every count-th case from index on. The whole plan is shard 0 of 1.
struct Shard {
  std::int64_t index = 0, count = 1;

  bool operator==(const Shard&) const = default;
};

struct RunRecord {
  std::string version;  ///< of this suite
  std::string git_sha;  ///< of the sources that the binary was built from; "unknown" without git
  bool git_dirty = false;
  std::vector<std::string> argv;
  std::string started;                             ///< UTC, ISO 8601
  std::map<std::string, std::string> environment;  ///< host, os, cpu, compiler, device, driver ...
  std::vector<std::uint64_t> seeds;                ///< of the drawn cases, each once
  std::string plan;  ///< names the plan of the whole run: a hash of it
  Shard shard;
  std::int64_t planned = 0;  ///< cases that the run set out to do
  bool complete = false;     ///< false: interrupted, `cases` is what it got to
  double seconds = 0;
  std::vector<CaseRecord> cases;
};

/// Not passed and not skipped, and no waiver says that it may.
bool is_bad(const CaseRecord& record);

/// 3 when no case ran (none planned, or every one skipped); else 1 when any is FAILED, MISTRUSTED,
/// CRASHED or TIMED_OUT without a waiver, when the run is not complete, or, if `strict`, when any is SKIPPED; else 0.
int exit_code(const RunRecord& run, bool strict);

}  // namespace gdr2
