#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU, from prebuilt binaries: check the CUDA kernels, then time them. Nothing is
# timed when a check fails.
#   ci/gpu.sh BUILD_FOLDER OUT_FOLDER [--tar FILE] [--no-sanitizers] [--mutants FOLDER]
# OUT_FOLDER gets verify.json, laws.json, laws_resident*.json, gradcheck.json, search.<kernel>.json, benchmark.json (the
# files of reports/baselines/<device>/), and the log of every step. --tar packs the folder into one file as well. --mutants: libraries
# with a fault, built by `ci/cuda_mutants.py nvcc OBJECTS FOLDER` of the same sources, are held against the judge: power.json.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
out=$2
shift 2
tar_file=
sanitizers=1
mutants=
while [ $# -gt 0 ]; do
  case $1 in
    --tar) tar_file=$2; shift 2 ;;
    --no-sanitizers) sanitizers=0; shift ;;
    --mutants) mutants=$2; shift 2 ;;
    *) echo "gpu.sh: $1: unknown option" >&2; exit 2 ;;
  esac
done
mkdir -p "$out"
gdr2=$build/bin/gdr2
kernels=(--kernel cuda.chunk --kernel cuda.chunk.recompute --kernel cuda.recurrent)

failed=0
# step LOG TITLE COMMAND..: the whole output goes to OUT_FOLDER/LOG, its end to the console.
step() {
  local log=$out/$1
  echo "== $2"
  shift 2
  local begin=$SECONDS status=0
  "$@" >"$log" 2>&1 || status=$?
  if [ "$status" -eq 0 ]; then tail -n 3 "$log"; else grep -E -A4 "^(FAILED|MISTRUSTED|\\[  FAILED)|Failure" "$log" | head -n 60 || true; tail -n 5 "$log"; fi
  echo "   exit code $status, $((SECONDS - begin)) s"
  [ "$status" -eq 0 ] || failed=1
}

# Every kernel on small problems: each number format, packed with an empty sequence and tails, every cut
# of V, forward, backward and decoding. The sanitizers slow a kernel down a hundredfold.
sanitized_cases=(
  'T=70 H=2 HV=4 K=32 V=24 h0=1'
  'B=2 T=3 K=128 V=128 pass=fwd h0=1'
  'B=40 T=66 K=128 V=128 seed=2'
  'B=25 H=4 T=3 K=128 V=128 pass=fwd'
  'lens=0,5,66,1 K=60 V=100 h0=1 layout=vk gate=softplus l2norm=1 dtype=fp32'
  'T=65 K=128 V=128 dtype=tf32'
  'T=65 K=200 V=64 dtype=fp16 l2norm=1'
)

tools=(memcheck racecheck initcheck synccheck)

sanitize() {
  local tool=$1
  compute-sanitizer --tool "$tool" --error-exitcode 9 \
    "$gdr2" laws --law unasked_final_state "${kernels[@]}" "${sanitized_cases[@]}"
}

# The four at the same time, each into its own log.
sanitize_all() {
  local tool status=0
  local -A running
  for tool in "${tools[@]}"; do
    sanitize "$tool" >"$out/sanitizer.$tool" 2>&1 &
    running[$tool]=$!
  done
  for tool in "${tools[@]}"; do
    local one=0
    wait "${running[$tool]}" || one=$?
    echo "-- compute-sanitizer $tool: exit code $one"
    tail -n 2 "$out/sanitizer.$tool"
    [ "$one" -eq 0 ] || status=1
  done
  return "$status"
}

# Cases that nobody wrote down, ten seconds of them on every kernel at the same time. What fails is made small
# and kept in OUT_FOLDER/found.
search_all() {
  local kernel status=0
  local -A running
  for kernel in cuda.chunk cuda.chunk.recompute cuda.recurrent; do
    "$gdr2" search --kernel "$kernel" --time 10s --seed 40 --save "$out/found" \
      --json "$out/search.$kernel.json" >"$out/search.$kernel" 2>&1 &
    running[$kernel]=$!
  done
  for kernel in "${!running[@]}"; do
    wait "${running[$kernel]}" || status=1
    cat "$out/search.$kernel" && rm "$out/search.$kernel"
  done
  return "$status"
}

# The laws that hold to the bit, on tensors that stay on the device: two calls of a size of production, one law at a
# time so that what each takes is its own; then small cases and a decoding step, on every kernel.
resident_laws() {
  local status=0
  "$gdr2" laws --resident --threads 1 --kernel cuda.chunk 'B=8 T=4096 H=16 K=128 V=128 h0=1 recipe=slow' \
    --json "$out/laws_resident.json" || status=1
  "$gdr2" laws --resident --threads 1 --kernel cuda.chunk 'T=32768 H=16 K=128 V=128' \
    --json "$out/laws_resident_long.json" || status=1
  "$gdr2" laws --resident "${kernels[@]}" --set laws_small 'B=64 T=1 H=16 K=128 V=128 h0=1 pass=fwd' \
    --json "$out/laws_resident_small.json" || status=1
  return "$status"
}

nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv
# They take long and little of the device: beside the checks, never beside the times.
sanitizing=
if [ "$sanitizers" -eq 1 ] && command -v compute-sanitizer >/dev/null; then
  sanitize_all >"$out/sanitizer.summary" 2>&1 &
  sanitizing=$!
fi
step tests.log "tests on the device" "$build/tests/cuda_test" --gtest_brief=1
step verify.log "every case of the ci and activations sets" \
  "$gdr2" verify --set ci --set activations "${kernels[@]}" --json "$out/verify.json"
step laws.log "laws" "$gdr2" laws "${kernels[@]}" --json "$out/laws.json"
step laws_resident.log "laws on tensors of the device" resident_laws
step gradcheck.log "gradients against derivatives of the forward" \
  "$gdr2" gradcheck "${kernels[@]}" --json "$out/gradcheck.json"
step search.log "cases drawn at random" search_all
if [ -n "$mutants" ]; then
  step power.log "sources with a fault" python3 ci/cuda_mutants.py hunt "$gdr2" "$mutants" --right "$mutants/right.so" \
    --jobs 4 --least 95
  cp "$mutants/power.json" "$out/" || failed=1
fi
if [ -n "$sanitizing" ]; then
  step sanitizer.log "compute-sanitizer" wait "$sanitizing"
  cat "$out/sanitizer.summary"
  for tool in "${tools[@]}"; do
    tail -n 200 "$out/sanitizer.$tool" >>"$out/sanitizer.log" && rm "$out/sanitizer.$tool"
  done
fi
if [ "$failed" -eq 0 ]; then
  step benchmark.log "times" "$build/bin/gdr2_cuda_benchmark" "$out/benchmark.json"
  cat "$out/benchmark.log"
else
  echo "gpu.sh: a check failed, nothing is timed"
fi
[ -z "$tar_file" ] || tar -czf "$tar_file" -C "$out" .
exit "$failed"
