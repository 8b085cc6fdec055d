#!/usr/bin/env bash
# format.sh CHECKOUT CLANG_FORMAT: every C and C++ file is as .clang-format says.
set -eu
cd "$1"
find include src tests bench docs/examples \( -name '*.[ch]' -o -name '*.cuh' -o -name '*.hpp' -o -name '*.cc' -o -name '*.cpp' -o -path 'docs/*.cu' \) -print0 | xargs -0 "$2" --dry-run -Werror
