#!/usr/bin/env bash
# cppcheck.sh CHECKOUT CPPCHECK FOLDER...: cppcheck finds nothing in the C files of the folders but what cppcheck.txt, beside this
# script, argues.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
cppcheck=$2
shift 2

"$cppcheck" -j "$(nproc)" --quiet --error-exitcode=1 --std=c11 --library=posix \
    --enable=warning,style,performance,portability --suppressions-list="$here/cppcheck.txt" \
    -D_GNU_SOURCE -DNDEBUG -Isrc -Isrc/library -Iinclude \
    --template='{file}:{line}: {severity}: {message} [{id}]' "$@"
echo "cppcheck finds nothing in $(find "$@" -name '*.c' | wc -l) files"
