// SPDX-License-Identifier: Apache-2.0
// Facts of the build, written by cmake/build_info.sh whenever they change.
#pragma once

namespace gdr2::build_info {

extern const char* const version;
extern const char* const git_sha;
extern const bool git_dirty;
extern const char* const compiler;
extern const char* const flags;
extern const char* const build_type;
extern const char* const cuda;            ///< version of the CUDA compiler; "" without GPU kernels
extern const char* const kernel_sources;  ///< hash of the GPU kernels' sources (ci/kernel_hash.sh)

}  // namespace gdr2::build_info
