#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails when a committed GPU report was measured on other kernel sources than those in the tree: a
# kernel cannot change without being measured again. A line in reports/baselines/waivers.txt,
#   <date> <hash of the present sources> <reason>
# turns the failure into a skip (exit code 77) that prints the reason.
#   ci/check_baselines.sh [SOURCE_FOLDER]
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

hash=$(ci/kernel_hash.sh .)
shopt -s nullglob
reports=()
for report in reports/baselines/*/*.json; do
  # No GPU kernel is in those of cpu; what other people's kernels gave does not depend on ours, and what the
  # judge finds in spoiled sources (power.json) says nothing of the sources as they are.
  [[ "$report" == reports/baselines/cpu/* || "$report" == */public_* || "$report" == */power.json ]] || reports+=("$report")
done
stale=()
for report in "${reports[@]}"; do
  grep -q "\"kernel_sources\": *\"$hash\"" "$report" || stale+=("$report")
done
if [ ${#reports[@]} -gt 0 ] && [ ${#stale[@]} -eq 0 ]; then
  echo "check_baselines: ${#reports[@]} reports, all of kernel sources $hash"
  exit 0
fi
if reason=$(grep -E "^[0-9]{4}-[0-9]{2}-[0-9]{2} $hash " reports/baselines/waivers.txt 2>/dev/null); then
  echo "check_baselines: waived: $reason"
  exit 77
fi
echo "check_baselines: the kernel sources are $hash, and not measured:"
[ ${#reports[@]} -gt 0 ] || echo "  there is no report under reports/baselines"
printf '  %s is of other sources\n' "${stale[@]}"
exit 1
