#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the ```sh blocks of docs/HOWTO_verify_your_kernel.md as written, in a folder that looks like the root of the
# repository with this build as build/.
#   run_howto.sh SOURCE_FOLDER BUILD_FOLDER PYTHON_WITH_NUMPY
set -euo pipefail
source=$1 build=$2 python=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/root" "$folder/root/build" "$folder/path"
for entry in "$source"/*; do
  [ "$(basename "$entry")" = build ] || ln -s "$entry" "$folder/root/"
done
ln -s "$build/bin" "$folder/root/build/bin"
ln -s "$python" "$folder/path/python3" # the one that has numpy
export PATH=$folder/path:$PATH
cd "$folder/root"
sed -n '/^```sh$/,/^```$/{/^```/d;p}' docs/HOWTO_verify_your_kernel.md >"$folder/commands"
[ "$(wc -l <"$folder/commands")" -ge 7 ] || { echo "run_howto: the page lost its commands"; exit 1; }
bash -euxo pipefail "$folder/commands"
{ build/bin/gdr2 judge build/case.safetensors 2>&1 || true; } | grep 'no results to judge' # the page says to add them
