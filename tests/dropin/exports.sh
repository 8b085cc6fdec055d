#!/usr/bin/env bash
# exports.sh ROWS DROPIN SOURCE: the drop-in exports the calls of its table, and dlsym and dlvsym in both of glibc's versions, and
# nothing else. Its source calls neither of these two: that would be its own.
set -eu
rows=$1 dropin=$2 source=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    "$rows" | awk '{ print $1 }'
    for name in dlsym dlvsym; do
        echo "$name@@GLIBC_2.34"
        echo "$name@GLIBC_2.2.5"
    done
} | LC_ALL=C sort > "$work/expected"
nm -D --defined-only "$dropin" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort > "$work/exported"
diff -u "$work/expected" "$work/exported"

nm -D --undefined-only "$dropin" | awk '{ print $2 }' | grep -E '^dlv?sym(@|$)' && { echo "the drop-in needs that of another library"; exit 1; }
grep -nE '\bdlv?sym *\(' "$source"/*.c && { echo "a look-up that doesn't go through resolver.h"; exit 1; }
echo "$(wc -l < "$work/exported") names"
