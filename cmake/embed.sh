#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a C++ source that defines texts of files: `const std::string_view NAME` of namespace gdr2, a
# pair of arguments each. FILE "-" is an empty text.
#   embed.sh OUTPUT HEADER NAME FILE [NAME FILE]...
set -eu
output=$1 header=$2
shift 2
{
  printf '// Written by cmake/embed.sh.\n#include "%s"\n\nnamespace gdr2 {\n' "$header"
  while [ $# -gt 0 ]; do
    printf '\nconst std::string_view %s = R"gdr2embed(' "$1"
    [ "$2" = - ] || cat "$2"
    printf ')gdr2embed";\n'
    shift 2
  done
  printf '\n}  // namespace gdr2\n'
} >"$output"
