#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Holds the include lines to the diagram of docs/DESIGN.md:
#   reference <- {fixtures, kernels} <- {properties, gradcheck} <- cli ;  reports <- cli
# Prints every include that points the wrong way, with its file and line; exit code 1 if there is one.
#   ci/check_layers.sh [SOURCE_FOLDER]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# The plain types of reference: what a kernel or a report may know of it.
plain='reference/(contract|difficulty|error|error_profile|error_stats|format|problem|tensor|verdict)\.hpp'

# Folder, then what its files may include; the first row whose folder holds a file decides. Folders
# that are not named (tests, benchmarks) may include anything.
rules=(
  "reference/independent/  nothing"
  "reference/              reference/"
  "fixtures/               reference/|fixtures/"
  "kernels/abi/gdr2_kernel.h  nothing"
  "kernels/cpu/            reference/|kernels/"
  "kernels/                $plain|kernels/"
  "properties/             reference/|fixtures/|kernels/|properties/"
  "gradcheck/              reference/|fixtures/|kernels/|gradcheck/"
  "reports/                $plain|reports/"
  "cli/                    reference/|fixtures/|kernels/|properties/|gradcheck/|reports/|cli/"
)

# The one include that leaves the diagram: without a CUDA compiler the platform header of the device
# code takes the stand-in that runs it on the host, which is a test's.
excused='kernels/cuda/device/platform.cuh tests/cuda_on_host/cuda_on_host.hpp'

allowed_of() {
  local rule
  for rule in "${rules[@]}"; do
    if [[ "$1" == "${rule%% *}"* ]]; then
      echo "${rule##* }"
      return
    fi
  done
}

includes=""
for rule in "${rules[@]}"; do
  folder=${rule%% *}
  [[ -d "$folder" ]] || continue
  includes+=$(grep -rHnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$folder" \
    --include='*.hpp' --include='*.h' --include='*.cpp' --include='*.c' --include='*.cu' --include='*.cuh' |
    sed -E 's/^([^:]*):([0-9]+):[^"]*"([^"]*)".*/\1 \2 \3/')$'\n' || true
done
includes=$(sort -u <<<"$includes" | sed '/^$/d')
if [[ -z "$includes" ]]; then
  echo "check_layers: no include lines under $PWD: not a source folder"
  exit 1
fi

wrong=0
while read -r file line header; do
  allowed=$(allowed_of "$file")
  [[ "$header" =~ ^($allowed) ]] && continue
  [[ "$file $header" == "$excused" ]] && continue
  echo "$file:$line: includes \"$header\"; may include: $allowed"
  wrong=1
done <<<"$includes"
exit $wrong
