#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The regression of padded entries where there are any: decode kernels that take a padded row for one of slot 0,
# or leave its output, are caught on one case, and the right one passes it.
#   padded_rows_test.sh SOURCE_FOLDER BUILD_FOLDER RIGHT_LIBRARY WORK_FOLDER
set -euo pipefail
source=$1 build=$2 right=$3 work=$4
gdr2=$build/bin/gdr2
faults=(decode.padding_state decode.padding_written)
rm -rf "$work" && mkdir -p "$work"
echo 'B=2 T=1 K=16 V=16 h0=1 pass=fwd' >"$work/case.txt"
python3 "$source/ci/cuda_mutants.py" build "$build" "$work" "${faults[@]}"
for fault in "${faults[@]}"; do
  [ -f "$work/$fault.so" ] || { echo "padded_rows_test: $fault was not built"; exit 1; }
done
python3 "$source/ci/cuda_mutants.py" hunt "$gdr2" "$work" "${faults[@]}" --set "$work/case.txt" | tee "$work/hunt.txt"
[ "$(grep -c '^caught .* exact ' "$work/hunt.txt")" -eq ${#faults[@]} ]
"$gdr2" verify --set "$work/case.txt" --kernel "$right:decode"
