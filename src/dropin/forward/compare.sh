#!/usr/bin/env bash
# compare.sh LIBCUDA: the functions that a driver (or a toolkit's stub of one) exports and that names.inc lacks, one a line. Ends with 1
# if there are any. The list may have more than a driver: names that came later, or went.
set -eu
library=$1 names=$(dirname "${BASH_SOURCE[0]}")/names.inc

exported=$(nm -D --defined-only "$library" | awk '$2 ~ /^[TWi]$/ { sub(/@.*/, "", $3); print $3 }' | (grep -E '^cu[A-Z]|^cudbgGetAPI' || true) | LC_ALL=C sort -u)
missing=$(LC_ALL=C comm -13 <(sed -n 's/^X(\(.*\))$/\1/p' "$names") <(echo "$exported"))
test -n "$exported" || { echo "compare.sh: $library exports no function of a driver" >&2; exit 2; }
test -z "$missing" || { echo "$missing"; exit 1; }
