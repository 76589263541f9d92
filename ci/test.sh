#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything and runs every test.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/install_packages.sh
cmake --preset ci
cmake --build --preset ci
ctest --preset ci -j2
