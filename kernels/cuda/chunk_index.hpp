// SPDX-License-Identifier: Apache-2.0
// The table of chunks of packed sequences, built on the device from cu_seqlens without asking the
// host, so that a captured graph replays right when cu_seqlens has changed.
#pragma once

#include "kernels/cuda/problem.cuh"
#include "kernels/cuda/workspace.hpp"

namespace gdr2::cuda {

// Chunks, or a bound on their number: B ceil(T / 64), packed floor((T + 63 N) / 64).
int64_t chunk_bound(const gdr2_problem& problem);

// Takes the tables from the workspace (nothing when not packed). First in the order of every pass.
void place_chunk_index(DeviceProblem& problem, Workspace& workspace);

// Enqueues the filling of the tables (nothing when not packed).
void build_chunk_index(const DeviceProblem& problem);

}  // namespace gdr2::cuda
