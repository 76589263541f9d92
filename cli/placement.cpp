// SPDX-License-Identifier: Apache-2.0
#include "cli/placement.hpp"

#include <charconv>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "reference/error.hpp"

namespace gdr2 {
namespace {

std::int64_t number(const std::string& text, const std::string& what) {
  std::int64_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < 0)
    fail("{}: '{}' is not a natural number", what, text);
  return value;
}

void expect_inside(const Shard& shard, const std::string& what) {
  if (shard.count < 1 || shard.index >= shard.count)
    fail("{}: there is no shard {} of {}", what, shard.index + 1, shard.count);
}

Shard from_option(const std::string& option) {
  const auto slash = option.find('/');
  if (slash == std::string::npos) fail("--shard: '{}' is not of the form i/n", option);
  const auto first = number(option.substr(0, slash), "--shard");
  if (first < 1) fail("--shard: '{}': shards count from 1", option);
  const Shard shard{first - 1, number(option.substr(slash + 1), "--shard")};
  expect_inside(shard, "--shard");
  return shard;
}

/// A pair of variables that say "this is part i of n", counting from `first`.
struct Scheduler {
  const char *name, *index, *count, *first;
};
constexpr Scheduler kSchedulers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    {"Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN"},
    {"GoogleTest", "GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS", nullptr},
};

std::optional<Shard> from_scheduler(const Scheduler& scheduler, const Environment& environment) {
  const auto index = environment(scheduler.index), count = environment(scheduler.count);
  if (!index && !count) return std::nullopt;
  if (!index || !count)
    fail("{} is set and {} is not", index ? scheduler.index : scheduler.count,
         index ? scheduler.count : scheduler.index);
  const auto first = scheduler.first ? environment(scheduler.first) : std::nullopt;
  if (environment("SLURM_ARRAY_TASK_STEP").value_or("1") != "1" && scheduler.first)
    fail("SLURM_ARRAY_TASK_STEP: only arrays of step 1 can be shards; give --shard");
  const auto offset = first ? number(*first, scheduler.first) : 0;
  const Shard shard{number(*index, scheduler.index) - offset, number(*count, scheduler.count)};
  if (shard.index < 0) fail("{}: less than {}", scheduler.index, scheduler.first);
  expect_inside(shard, scheduler.index);
  return shard.count > 1 ? std::optional(shard) : std::nullopt;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  };
}

Placement placement_of(const std::string& option, const Environment& environment) {
  if (!option.empty()) return {.shard = from_option(option), .source = "--shard"};
  Placement placement;
  for (const auto& scheduler : kSchedulers) {
    const auto shard = from_scheduler(scheduler, environment);
    if (!shard) continue;
    if (!placement.source.empty())
      fail("both {} and {} split this run; say with --shard which part this is", placement.source,
           scheduler.name);
    placement.shard = *shard;
    placement.source = scheduler.name;
    if (&scheduler == &kSchedulers[0])
      placement.job = environment("PMIX_NAMESPACE")
                          .value_or(environment("OMPI_MCA_ess_base_jobid").value_or("unnamed"));
  }
  return placement;
}

std::optional<std::string> visible_devices(const Environment& environment, int devices) {
  if (const auto allotted = environment("CTEST_RESOURCE_GROUP_0_GPUS")) {
    const auto first = split(*allotted, ';').front();  // "id:2,slots:1"
    if (first.starts_with("id:")) return first.substr(3, first.find(',') - 3);
  }
  const auto rank = environment("OMPI_COMM_WORLD_LOCAL_RANK");
  if (!rank) return std::nullopt;
  std::vector<std::string> visible;
  if (const auto given = environment("CUDA_VISIBLE_DEVICES")) {
    visible = split(*given, ',');
  } else {
    for (int i = 0; i < devices; ++i) visible.push_back(std::to_string(i));
  }
  if (visible.size() < 2) return std::nullopt;
  const auto index = number(*rank, "OMPI_COMM_WORLD_LOCAL_RANK");
  return visible[std::size_t(index) % visible.size()];
}

std::filesystem::path shard_path(const std::filesystem::path& path, const Shard& shard) {
  auto name = path;
  name.replace_extension();
  name += fmt::format(".{}-of-{}{}", shard.index + 1, shard.count, path.extension().string());
  return name;
}

}  // namespace gdr2
