#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a small and a large report and looks at them in a browser (page_test.mjs).
#   page_test.sh GDR2 PYTHON NODE_MODULES_PARENT FOLDER
set -euo pipefail
gdr2=$1 python=$2 modules=$3 folder=$4
here=$(dirname "$0") baselines=$(dirname "$0")/../../reports/baselines
mkdir -p "$folder"
"$gdr2" verify --kernel cpu.chunk 'T=9 K=4 V=4' 'T=9 K=4 V=4 dtype=fp32' \
  'T=20 K=4 V=4 recipe=slow' 'T=20 K=4 V=4 recipe=slow dtype=fp32' --json "$folder/small.json" >/dev/null
"$gdr2" report "$folder/small.json" --html "$folder/small.html" --study "$baselines/cpu/power.json" \
  --study "$baselines/cpu/calibration.json" --study "$baselines/nvidia-h200/bench_decode.json"
"$python" "$here/many_cases.py" "$folder/small.json" 10000 "$folder/large.json"
"$gdr2" report "$folder/large.json" --html "$folder/large.html" || [ $? -eq 1 ]  # the code of a run with failures
rm "$folder/large.json"  # 100 MB
exec node "$here/page_test.mjs" "$modules" "$folder/small.html" "$folder/large.html"
