#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, from prebuilt binaries: check the CUDA kernels, then time them. Nothing is
# timed when a check fails.
#   ci/gpu.sh BUILD_FOLDER OUT_FOLDER
# OUT_FOLDER gets verify.json, laws.json, sanitizer.log, benchmark.json: the files of
# reports/baselines/<device>/.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
out=$2
mkdir -p "$out"
gdr2=$build/bin/gdr2
kernels=(--kernel cuda.chunk --kernel cuda.chunk.recompute --kernel cuda.recurrent)

nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv
failed=0
step() {
  echo "== $1"
  shift
  local begin=$SECONDS status=0
  "$@" || status=$?
  echo "   exit code $status, $((SECONDS - begin)) s"
  [ "$status" -eq 0 ] || failed=1
}

# The sanitizers see every kernel on small problems; the large tests would take them minutes.
sanitize() {
  local tool
  for tool in memcheck racecheck initcheck synccheck; do
    echo "-- compute-sanitizer $tool"
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$gdr2" laws --law unasked_final_state "${kernels[@]}" \
      'T=70 H=2 HV=4 K=32 V=24 h0=1' 'lens=0,5,66,1 K=60 V=100 h0=1 layout=vk gate=softplus l2norm=1 dtype=fp32' \
      'T=65 K=128 V=128 dtype=tf32' 'B=2 T=3 K=128 V=128 pass=fwd h0=1' || return 1
  done
}

step "tests on the device" "$build/tests/cuda_test" --gtest_brief=1
step "every case of the ci set" "$gdr2" verify --set ci "${kernels[@]}" --json "$out/verify.json"
step "exact laws" "$gdr2" laws "${kernels[@]}" --json "$out/laws.json"
if command -v compute-sanitizer >/dev/null; then
  step "compute-sanitizer" sanitize >"$out/sanitizer.log" 2>&1
  grep -E "== |-- |ERROR SUMMARY|exit code|RACECHECK SUMMARY" "$out/sanitizer.log"
fi
[ "$failed" -eq 0 ] || { echo "gpu.sh: a check failed, nothing is timed"; exit 1; }
step "times" "$build/bin/gdr2_cuda_benchmark" "$out/benchmark.json"
exit "$failed"
