#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` installs works: the sets are the same, roff has nothing to complain of in the manual,
# and bash completes subcommands, options and names.
#   manual_test.sh BUILD_FOLDER FOLDER
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd) build=$1 folder=$2
rm -rf "$folder"
cmake --install "$build" --prefix "$folder" >/dev/null
folder=$(cd "$folder" && pwd)
gdr2=$folder/bin/gdr2

fail() { echo "FAILED: $*"; exit 1; }
[ "$("$gdr2" --version)" ] || fail "the installed gdr2 does not run"
sets() { GDR2_FIXTURES=$1 "$gdr2" list sets; }
[ "$(sets "$folder/share/gdr2/fixtures")" = "$(sets "$source/fixtures")" ] || fail "the installed sets differ"
for file in include/gdr2_kernel.h share/gdr2/adapters/gdr2_torch.py; do
  [ -s "$folder/$file" ] || fail "$file is not installed"
done

pages=$("$gdr2" --help | sed -n '/^Subcommands:/,$ s/^  \([a-z]*\) .*/gdr2-\1/p')
[ "$(wc -w <<<"$pages")" -gt 10 ] || fail "no subcommands are listed"
for page in gdr2 $pages; do
  file=$folder/share/man/man1/$page.1
  [ -s "$file" ] || fail "$file is not installed"
  grep -q "^$(sed 's/-/\\\\-/' <<<"$page") \\\\- " "$file" || fail "$file does not name itself"
done
if command -v groff >/dev/null; then
  for file in "$folder"/share/man/man1/*.1; do
    complaints=$(groff -man -ww -Tutf8 -z "$file" 2>&1)
    [ -z "$complaints" ] || fail "$file: $complaints"
  done
fi

source "$folder/share/bash-completion/completions/gdr2"
complete_words() {  # the last is the word at the cursor
  COMP_WORDS=("$gdr2" "$@") COMP_CWORD=$#
  _gdr2
  echo "${COMPREPLY[*]-}"
}
expect() {
  local expected=$1
  shift
  local got
  got=$(complete_words "$@")
  [[ " $got " == *" $expected "* ]] || fail "'gdr2 $*' completes to '$got', without '$expected'"
}
expect verify ver
expect --waivers verify --wai
expect --kernel bench --k
expect cpu.chunk verify --kernel cpu.
expect smoke verify 'T=5' --set s
expect recipes list rec
expect causality laws --law caus
expect compare help comp
[ -z "$(complete_words verify --json re)" ] || fail "a file is completed as something else"
[ -z "$(complete_words verify T=5)" ] || fail "a case is completed as something else"
echo "the manual and the completion are installed and work"
