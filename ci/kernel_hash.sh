#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The hash of the sources that a GPU measurement depends on: the CUDA kernels and the C interface.
#   ci/kernel_hash.sh [SOURCE_FOLDER]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
LC_ALL=C find kernels/cuda kernels/abi/gdr2_kernel.h -type f \( -name '*.cu' -o -name '*.cuh' -o -name '*.hpp' -o -name '*.h' \) |
  LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-16
