// SPDX-License-Identifier: Apache-2.0
#include "reports/merge.hpp"

#include <algorithm>
#include <set>

#include "reference/error.hpp"
#include "reports/map_keeper.hpp"

namespace gdr2 {
namespace {

std::string shard_text(const Shard& shard) {
  return fmt::format("shard {} of {}", shard.index + 1, shard.count);
}

void expect_same(const NamedRun& first, const NamedRun& other) {
  const auto expect = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b)
      fail("{} and {} are not of one run: {} is {} and {}", first.name, other.name, what, a, b);
  };
  const auto &a = first.run, &b = other.run;
  expect("plan", a.plan, b.plan);
  expect("version", a.version, b.version);
  expect("git_sha", a.git_sha, b.git_sha);
  expect("git_dirty", a.git_dirty ? "true" : "false", b.git_dirty ? "true" : "false");
  expect("the number of shards", std::to_string(a.shard.count), std::to_string(b.shard.count));
}

/// `shards` are sorted by index.
void expect_each_once(const std::vector<NamedRun>& shards) {
  for (std::size_t i = 1; i < shards.size(); ++i)
    if (shards[i].run.shard.index == shards[i - 1].run.shard.index)
      fail("{} and {} overlap: both are {}", shards[i - 1].name, shards[i].name,
           shard_text(shards[i].run.shard));
  std::string missing;
  auto next = shards.begin();
  for (Shard shard = {0, shards.front().run.shard.count}; shard.index < shard.count; ++shard.index)
    if (next != shards.end() && next->run.shard == shard)
      ++next;
    else
      missing += (missing.empty() ? "" : ", ") + shard_text(shard);
  if (!missing.empty()) fail("missing: {}", missing);
}

void expect_whole(const NamedRun& shard) {
  const auto& [name, run] = shard;
  if (!run.complete || std::ssize(run.cases) != run.planned)
    fail("{}: {} was interrupted: {} of {} cases done", name, shard_text(run.shard),
         run.cases.size(), run.planned);
  for (const auto& record : run.cases)
    if (record.index % run.shard.count != run.shard.index)
      fail("{}: case {} does not belong to {}", name, record.index, shard_text(run.shard));
}

/// "a", or "a, b" where shards ran in different places.
void join_fact(std::string& fact, const std::string& other) {
  if (fact != other && fact.find(other) == std::string::npos) fact += ", " + other;
}

void add(RunRecord& whole, RunRecord& shard) {
  whole.started = std::min(whole.started, shard.started);
  whole.seconds = std::max(whole.seconds, shard.seconds);
  whole.planned += shard.planned;
  for (const auto& [key, value] : shard.environment)
    if (const auto [fact, is_new] = whole.environment.try_emplace(key, value); !is_new)
      join_fact(fact->second, value);
  whole.seeds.insert(whole.seeds.end(), shard.seeds.begin(), shard.seeds.end());
  std::ranges::move(shard.cases, std::back_inserter(whole.cases));
}

}  // namespace

RunRecord merge_shards(std::vector<NamedRun> shards) {
  if (shards.empty()) fail("no report to merge");
  std::ranges::stable_sort(shards, {}, [](const NamedRun& s) { return s.run.shard.index; });
  for (const auto& shard : shards) expect_same(shards.front(), shard);
  expect_each_once(shards);
  for (const auto& shard : shards) expect_whole(shard);

  auto whole = std::move(shards.front().run);
  for (std::size_t i = 1; i < shards.size(); ++i) add(whole, shards[i].run);
  whole.shard = {};
  whole.complete = true;
  std::ranges::sort(whole.seeds);
  const auto repeated = std::ranges::unique(whole.seeds);
  whole.seeds.erase(repeated.begin(), repeated.end());
  std::ranges::sort(whole.cases, {}, &CaseRecord::index);
  keep_worst_maps(whole.cases);
  return whole;
}

std::string plan_name(const std::vector<std::string>& repro_lines) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const auto& line : repro_lines)
    for (const char c : line + '\n') hash = (hash ^ std::uint8_t(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace gdr2
