#!/usr/bin/env bash
# exports.sh HEADER MAP LIBRARY: the calls that the header declares, the names in the version script, and the symbols that a
# shared library beside the pools exports are the same; and it needs no other library than streampool's and the system's.
set -euo pipefail
header=$1 map=$2 library=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -oE '^STREAMPOOL_API .*\bpool[A-Za-z0-9]*\(' "$header" | sed 's/.* \(pool.*\)($/\1/' | sort > "$work/header"
sed -n 's/^    \(pool[A-Za-z0-9]*\);$/\1/p' "$map" | sort > "$work/version-script"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@+.*/, "", $3); print $3 }' | sort > "$work/library"
test -s "$work/header" || { echo "no call found in the header"; exit 1; }
cd "$work"
diff -u header version-script
diff -u version-script library

others=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libstreampool(_copy)?\.so\..*|libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*)$' || true)
test -z "$others" || { echo "it needs $others"; exit 1; }
echo "$(wc -l < header) calls, the same in header, version script and library"
