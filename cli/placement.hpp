// SPDX-License-Identifier: Apache-2.0
// Which part of a run this process does, and on which GPU: said by --shard, or by the scheduler that
// started it. Open MPI ranks, Slurm array tasks and GoogleTest's sharding variables are picked up by
// themselves. Reads the environment; starts nothing and talks to nobody.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "reports/record.hpp"

namespace gdr2 {

/// Value of an environment variable, nullopt when it is not set. A parameter, so that it can be tested.
using Environment = std::function<std::optional<std::string>(const char*)>;
Environment process_environment();

struct Placement {
  Shard shard;
  std::string source;  ///< "--shard", "Open MPI" ...; "" when nothing splits the run
  std::string job;     ///< of the MPI job, the same for all its ranks; "" without MPI

  bool is_rank() const { return !job.empty() && shard.count > 1; }
  bool is_first() const { return shard.index == 0; }
};

/// `option` is what --shard was given, "" for none; it wins over the environment. Throws Error naming
/// the option or the variable, and when two schedulers both split the run.
Placement placement_of(const std::string& option, const Environment& environment);

/// What CUDA_VISIBLE_DEVICES should be for this process: the GPU that CTest allotted
/// (CTEST_RESOURCE_GROUP_0_GPUS), or the one of its rank on this host among those visible, of which
/// the host has `devices`. nullopt: leave it as it is.
std::optional<std::string> visible_devices(const Environment& environment, int devices);

/// "out/report.json" -> "out/report.2-of-8.json".
std::filesystem::path shard_path(const std::filesystem::path& path, const Shard& shard);

}  // namespace gdr2
