#!/usr/bin/env bash
# thread_local.sh LIMIT LIBRARY...: the libraries need at most LIMIT bytes of static thread-local memory together. The dynamic linker
# has little of it for libraries that a running program loads.
set -euo pipefail
limit=$1
shift

sum=0
for library in "$@"; do
    bytes=$((16#$(LC_ALL=C readelf -lW "$library" | awk '$1 == "TLS" { sub(/^0x/, "", $6); print $6; found = 1 } END { if (!found) print 0 }')))
    echo "$library: $bytes bytes"
    sum=$((sum + bytes))
done
echo "$sum bytes of at most $limit"
((sum <= limit))
