#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the definitions of reports/build_info.hpp. Runs at every build; the file is touched only when
# something in it changed.
#   build_info.sh SOURCE_FOLDER OUTPUT VERSION COMPILER FLAGS BUILD_TYPE CUDA_VERSION
set -eu
source=$1 output=$2

sha=$(git -C "$source" rev-parse --verify HEAD 2>/dev/null) || sha=unknown
dirty=false
if [ "$sha" != unknown ] && [ -n "$(git -C "$source" status --porcelain 2>/dev/null || echo failed)" ]; then
  dirty=true
fi

kernel_sources=$("$source/ci/kernel_hash.sh" "$source")

cat >"$output.new" <<TEXT
// Written by cmake/build_info.sh.
#include "reports/build_info.hpp"

namespace gdr2::build_info {

const char* const version = "$3";
const char* const git_sha = "$sha";
const bool git_dirty = $dirty;
const char* const compiler = "$4";
const char* const flags = "$5";
const char* const build_type = "$6";
const char* const cuda = "$7";
const char* const kernel_sources = "$kernel_sources";

}  // namespace gdr2::build_info
TEXT
if cmp -s "$output.new" "$output"; then
  rm "$output.new"
else
  mv "$output.new" "$output"
fi
