#!/usr/bin/env bash
# format.sh CHECKOUT CLANG_FORMAT: every C and C++ file is as .clang-format says.
set -eu
cd "$1"
find include src tests bench -name '*.[ch]' -print0 -o -name '*.hpp' -print0 -o -name '*.cc' -print0 | xargs -0 "$2" --dry-run -Werror
