#!/usr/bin/env bash
# compare.sh LIBCUDA [NAMES]: the functions that a driver (or a toolkit's stub of one) exports and that names.txt lacks, one a line.
# Ends with 1 if there are any. The list may have more than a driver: names that came later, or went.
#
# What a debugger looks up in the debugged process (cudbg...) isn't meant: it must find the driver's own, and that is in the process,
# too. Only the two functions that a debugger calls in itself are in the list.
set -eu
library=$1 names=${2:-$(dirname "${BASH_SOURCE[0]}")/names.txt}

exported=$(nm -D --defined-only "$library" | awk '$2 ~ /^[TWi]$/ { sub(/@.*/, "", $3); print $3 }' | grep -E '^cu[A-Z]|^cudbgGetAPI' | LC_ALL=C sort -u)
missing=$(LC_ALL=C comm -13 "$names" <(echo "$exported"))
test -n "$exported" || { echo "compare.sh: $library exports no function of a driver" >&2; exit 2; }
test -z "$missing" || { echo "$missing"; exit 1; }
