#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ci/check_layers.sh against trees with one include each: those along the arrows pass, every other is
# reported by file and line.
#   check_layers_test.sh PATH_OF_CHECK_LAYERS
set -euo pipefail
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# expect STATUS FILE HEADER
expect() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/$(dirname "$2")"
  printf '#pragma once\n#include "%s"\n' "$3" >"$tree/$2"
  local status=0 said
  said=$("$check" "$tree") || status=$?
  if [[ $status -ne $1 ]] || { [[ $1 -eq 1 ]] && [[ "$said" != "$2:2: includes \"$3\""* ]]; }; then
    echo "$2 with \"$3\": expected $1, got $status: $said"
    failures=$((failures + 1))
  fi
}

expect 0 reference/a.hpp reference/format.hpp
expect 0 fixtures/a.cpp reference/rounding.hpp
expect 0 kernels/kernel.hpp reference/problem.hpp
expect 0 kernels/cpu/a.cpp reference/chunk_form.hpp
expect 0 properties/judge/a.hpp kernels/kernel.hpp
expect 0 reports/a.hpp reference/verdict.hpp
expect 0 cli/main.cpp reports/record.hpp
expect 0 kernels/cuda/device/platform.cuh tests/cuda_on_host/cuda_on_host.hpp

expect 1 reference/a.hpp fixtures/case.hpp
expect 1 reference/a.hpp a.hpp
expect 1 reference/independent/kda.hpp reference/delta_rule.hpp
expect 1 fixtures/a.hpp kernels/kernel.hpp
expect 1 kernels/kernel.hpp fixtures/case.hpp
expect 1 kernels/cuda/scan.cu reference/delta_rule.hpp
expect 1 kernels/cuda/scan.cu tests/cuda_on_host/cuda_on_host.hpp
expect 1 kernels/cuda/scan.cu ../../reference/problem.hpp
expect 1 kernels/abi/gdr2_kernel.h reference/format.hpp
expect 1 properties/a.cpp cli/run.hpp
expect 1 properties/a.cpp gradcheck/a.hpp
expect 1 gradcheck/a.cpp reports/record.hpp
expect 1 reports/a.cpp properties/judge/check.hpp
expect 1 reports/a.cpp reference/tensor_of.hpp
expect 1 cli/a.cpp tests/reference/draws.hpp

rm -rf "${tree:?}"/*
if "$check" "$tree" >/dev/null 2>&1; then
  echo "a folder without sources passed"
  failures=$((failures + 1))
fi
exit $((failures > 0))
