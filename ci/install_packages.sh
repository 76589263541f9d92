#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian or Ubuntu packages that the build and the tests need, those that are missing.
set -euo pipefail

# tool:package, so that a tool that came from elsewhere is left as it is
tools=(cmake:cmake ninja:ninja-build g++:g++ ccache:ccache git:git python3:python3
       node:nodejs npm:npm chromium:chromium mpirun:openmpi-bin)
libraries=(libeigen3-dev libboost-dev libmpfr-dev libgmp-dev librapidcheck-dev libgtest-dev
           libgmock-dev libcli11-dev nlohmann-json3-dev libfmt-dev libbenchmark-dev librandom123-dev)

is_installed() {
  [ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" = "install ok installed" ]
}

if ! command -v apt-get >/dev/null; then
  echo "install_packages: no apt-get here; see that these are installed: ${tools[*]#*:} ${libraries[*]} python3-jsonschema python3-numpy"
  exit 0
fi

missing=()
for tool in "${tools[@]}"; do
  command -v "${tool%%:*}" >/dev/null || missing+=("${tool#*:}")
done
for library in "${libraries[@]}"; do
  is_installed "$library" || missing+=("$library")
done
python3 -c 'import jsonschema' 2>/dev/null || missing+=(python3-jsonschema)
# Any interpreter will do: the test that needs numpy looks for one.
python3 -c 'import numpy' 2>/dev/null || /usr/bin/python3 -c 'import numpy' 2>/dev/null || missing+=(python3-numpy)
if [ ${#missing[@]} -eq 0 ]; then
  echo "install_packages: nothing is missing"
  exit 0
fi

echo "install_packages: installing ${missing[*]}"
as_root=(env DEBIAN_FRONTEND=noninteractive)
[ "$(id -u)" -eq 0 ] || as_root=(sudo "${as_root[@]}")
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
