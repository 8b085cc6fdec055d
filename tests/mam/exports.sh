#!/usr/bin/env bash
# exports.sh CHECKOUT LIBRARY: the calls that mam.h declares, the names in the version script, and the symbols that the shared
# library of managers exports are the same; and the library needs no other library than streampool's and the system's.
set -euo pipefail
checkout=$1 library=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -oE '^STREAMPOOL_API .*\bpoolMam[A-Za-z]*\(' "$checkout/include/streampool/mam.h" | grep -oE 'poolMam[A-Za-z]*' | sort > "$work/header"
sed -n 's/^    \(pool[A-Za-z]*\);$/\1/p' "$checkout/src/mam/mam.map" | sort > "$work/version-script"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@+.*/, "", $3); print $3 }' | sort > "$work/library"
test -s "$work/header" || { echo "no call found in the header"; exit 1; }
cd "$work"
diff -u header version-script
diff -u version-script library

others=$(readelf -dW "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vE '^(libstreampool\.so\..*|libc\.so\.6|libdl\.so\.2|libpthread\.so\.0|ld-linux.*)$' || true)
test -z "$others" || { echo "it needs $others"; exit 1; }
echo "$(wc -l < header) calls, the same in header, version script and library"
