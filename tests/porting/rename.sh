#!/usr/bin/env bash
# rename.sh OUT FILE...: writes a copy of each file to the folder OUT, renamed by the script for sed that docs/porting.md shows.

set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$1
shift

mkdir -p "$out"
awk '/^```sed$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$here/../../docs/porting.md" > "$out/rename.sed"
test -s "$out/rename.sed" || { echo "docs/porting.md shows no script for sed"; exit 1; }
for file; do
    sed -E -f "$out/rename.sed" "$file" > "$out/${file##*/}"
done
