#!/usr/bin/env bash
# symbols.sh LIBRARY: a program that was linked with the library of before runs on this one. The shared library's name for the
# linker and its exported symbols with their versions are those of symbols.txt, beside this script. The drop-in's private ones
# belong to one build.
set -eu
library=$1
listed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/symbols.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A symbol of type A is the name of a version.
exported() {
    readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/SONAME \1/p'
    nm -D --defined-only "$library" | awk '/STREAMPOOL_PRIVATE/ { next } { print $2 == "A" ? "VERSION " $3 : $3 }'
}

grep -vE '^(#|$)' "$listed" | LC_ALL=C sort > "$work/listed"
exported | LC_ALL=C sort > "$work/exported"
{
    LC_ALL=C comm -23 "$work/listed" "$work/exported" |
        sed "s/\$/: programs of before need it, and the library doesn't have it/"
    LC_ALL=C comm -13 "$work/listed" "$work/exported" | sed 's/$/: new, and to be added to symbols.txt/'
} > "$work/complaints"
if [ -s "$work/complaints" ]; then
    cat "$work/complaints"
    exit 1
fi
echo "$(wc -l < "$work/exported") names, as listed"
