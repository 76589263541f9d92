#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Calibration on several threads, and in parts that are resumed, finds what one thread finds at once.
#   calibrate_test.sh GDR2 FOLDER
set -euo pipefail
gdr2=$1
folder=$2
rm -rf "$folder"
mkdir -p "$folder"
cases=(--kernel cpu.chunk --kernel cpu.recurrent --dtype bf16 --dtype fp32 --first 40 --orders 2)

"$gdr2" calibrate "${cases[@]}" --cases 3 --json "$folder/one.json" >/dev/null
"$gdr2" calibrate "${cases[@]}" --cases 3 --threads 3 --json "$folder/many.json" >/dev/null
"$gdr2" calibrate "${cases[@]}" --cases 1 --json "$folder/parts.json" >/dev/null
"$gdr2" calibrate "${cases[@]}" --cases 3 --threads 2 --resume --json "$folder/parts.json" >/dev/null

# Without what times: seconds, and the head of the report.
figures() { python3 - "$1" <<'EOF'
import json, sys
found = json.load(open(sys.argv[1]))["calibration"]
for progress in found["progress"].values():
    del progress["seconds"]
print(json.dumps(found, sort_keys=True))
EOF
}
command -v python3 >/dev/null || exit 77
for name in many parts; do
  [ "$(figures "$folder/one.json")" = "$(figures "$folder/$name.json")" ] || { echo "$name.json differs from one.json" >&2; exit 1; }
done
