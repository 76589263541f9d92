#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a verdict: installs what is missing, builds `gdr2`, judges the kernels of this
# repository on real activations in every dtype and on the smoke set, then the results of a public
# kernel that were recorded with those activations. Reports: build/report/. Exit code: 0 when the
# kernels of this repository pass.
set -euo pipefail
cd "$(dirname "$0")/.."

ci/install_packages.sh
cmake --preset ci
cmake --build --preset ci --target gdr2
mkdir -p build/report

echo
echo "== The kernels of this repository: these must pass"
ours=0
build/bin/gdr2 verify --set activations --set smoke --strict --json build/report/report.json --html build/report/index.html || ours=$?

echo
echo "== Results of a public kernel, recorded with the activations: for information"
echo "   A FAILED below is a finding about somebody else's results and does not change the exit code."
recorded=0
build/bin/gdr2 judge fixtures/activations/*.safetensors --contract fla.gdn2.chunk --json build/report/recorded.json || recorded=$?

echo
echo "Reports: build/report/index.html and build/report/report.json (our kernels, exit code $ours)"
echo "         build/report/recorded.json (recorded results, exit code $recorded, for information)"
[ "$recorded" -le 1 ] || exit "$recorded"  # neither passed nor failed: it could not be judged
exit "$ours"
