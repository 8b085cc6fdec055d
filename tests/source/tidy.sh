#!/usr/bin/env bash
# tidy.sh CHECKOUT CLANG_TIDY FOLDER...: clang-tidy finds nothing in the C files of the folders. .clang-tidy says what it looks for.
set -euo pipefail
cd "$1"
tidy=$2
shift 2

check() { # CLANG_TIDY FILE...
    local tidy=$1
    shift
    "$tidy" --quiet --warnings-as-errors='*' "$@" -- -std=c11 -D_GNU_SOURCE -DNDEBUG -Isrc -Isrc/library -Iinclude \
        '-DSP_BINDIR_TO_LIBDIR=""' 2>&1
}
export -f check

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find "$@" -name '*.c' -print0 > "$work/files"
if ! xargs -0 -n 4 -P "$(nproc)" bash -c 'check "$@"' check "$tidy" < "$work/files" > "$work/output"; then
    grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed ' "$work/output" || true
    exit 1
fi
echo "clang-tidy finds nothing in $(tr '\0' '\n' < "$work/files" | wc -l) files"
