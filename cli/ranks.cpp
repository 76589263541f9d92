// SPDX-License-Identifier: Apache-2.0
#include "cli/ranks.hpp"

#include <chrono>
#include <thread>

#include "cli/interrupt.hpp"
#include "reference/error.hpp"
#include "reports/merge.hpp"
#include "reports/report_file.hpp"

namespace gdr2 {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(50);

/// The report of one rank of this job, when it is finished.
std::optional<RunRecord> report_of(const std::filesystem::path& path, const std::string& job) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  auto run = read_report(path);
  const auto fact = run.environment.find(kJobFact);
  if (fact == run.environment.end() || fact->second != job) return std::nullopt;
  run.environment.erase(fact);
  return run;
}

}  // namespace

ReportFiles files_of(const Placement& placement, const ReportFiles& files) {
  if (placement.source.empty() || placement.source == "--shard") return files;
  const auto part = [&](const std::string& path) {
    return path.empty() ? path : shard_path(path, placement.shard).string();
  };
  if (!placement.is_rank())
    return {part(files.json), part(files.junit), part(files.markdown), part(files.html)};
  if (files.json.empty())
    fail("--json: {} ranks need a report to meet in, on a file system that all of them see",
         placement.shard.count);
  return {.json = part(files.json)};
}

RunRecord gather_ranks(const Placement& placement, const std::string& json) {
  std::vector<NamedRun> shards;
  for (Shard shard{0, placement.shard.count}; shard.index < shard.count; ++shard.index) {
    const auto path = shard_path(json, shard);
    auto run = report_of(path, placement.job);
    for (; !run; run = report_of(path, placement.job)) {
      if (const int signal = noted_signal()) die_of(signal);
      std::this_thread::sleep_for(kPoll);
    }
    shards.push_back({path.string(), std::move(*run)});
  }
  return merge_shards(std::move(shards));
}

void remove_rank_reports(const Placement& placement, const std::string& json) {
  for (Shard shard{0, placement.shard.count}; shard.index < shard.count; ++shard.index) {
    std::error_code kept;
    std::filesystem::remove(shard_path(json, shard), kept);
  }
}

}  // namespace gdr2
