#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run done in parts gives the report of the run done at once, to the byte but for times: in shards that are
# merged, by four MPI ranks, and killed in the middle and resumed.
#   scale_out_test.sh GDR2 FOLDER
set -euo pipefail
gdr2=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX
run=(verify 'T=5 K=4 V=3' 'T=9 K=4 V=4 recipe=slow' --kernel cpu.chunk --seeds 12)

# What may differ: times, and the command line.
same() {
  local what=$1
  diff <(plain one.json) <(plain "$2") >difference.txt || { echo "FAILED: $what differs:"; head -c 2000 difference.txt; exit 1; }
  echo "$what: the same report"
}
plain() {
  sed -E 's/"seconds":[^,}]*/"seconds":0/g; s/^ "(seconds|started)":.*//' "$1" | sed '/^ "argv": \[/,/^ \],/d'
}

"$gdr2" "${run[@]}" --json one.json >/dev/null

for i in 1 2 3; do "$gdr2" "${run[@]}" --shard $i/3 --json shard$i.json >/dev/null; done
"$gdr2" merge shard3.json shard1.json shard2.json --json merged.json >/dev/null
same "three shards, merged" merged.json
if "$gdr2" merge shard1.json shard3.json >/dev/null 2>refusal.txt; then echo "FAILED: a missing shard is not refused"; exit 1; fi
grep -q "missing: shard 2 of 3" refusal.txt

"$gdr2" "${run[@]}" --threads 3 --json killed.json >/dev/null &
pid=$!
for _ in $(seq 1000); do
  lines=$(grep -c . killed.json.partial 2>/dev/null || true)
  [ "${lines:-0}" -ge 5 ] && break
  sleep 0.01
done
kill -9 $pid
wait $pid 2>/dev/null || true
[ ! -e killed.json ] || { echo "FAILED: the run was done before it was killed"; exit 1; }
done_before=$(($(wc -l <killed.json.partial) - 1))
"$gdr2" "${run[@]}" --json killed.json --resume -v >resumed.txt
same "killed after $done_before cases and resumed" killed.json
[ "$(grep -c '^started' resumed.txt)" -eq $((24 - done_before)) ] || { echo "FAILED: finished cases ran again"; exit 1; }
if "$gdr2" verify 'T=5 K=4 V=3' --json killed.json --resume >/dev/null 2>refusal.txt; then echo "FAILED: another run is resumed"; exit 1; fi
grep -q -- "--resume: killed.json: the plan is" refusal.txt

if ! command -v mpirun >/dev/null; then
  echo "SKIPPED: no mpirun is installed; shards and resuming were tested"
  exit 77
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun --oversubscribe -n 4 "$gdr2" "${run[@]}" --json ranks.json --markdown ranks.md >ranks.txt
same "four MPI ranks" ranks.json
[ -s ranks.md ] && grep -q "24 cases" ranks.txt
[ -z "$(ls ranks.*-of-4.json* 2>/dev/null)" ] || { echo "FAILED: reports of ranks are left behind"; exit 1; }
