#!/usr/bin/env bash
# compare.sh EXPECTED PROGRAM: the program succeeds and prints what stands in the file. It is skipped where it skips itself.
set -eu
expected=$1 program=$2
skipped=77

actual=$(mktemp)
trap 'rm -f "$actual"' EXIT
status=0
"$program" > "$actual" || status=$?
if [ "$status" = "$skipped" ]; then
    cat "$actual"
    exit "$skipped"
fi
if [ "$status" != 0 ]; then
    cat "$actual"
    echo "$program ended with status $status"
    exit 1
fi
diff -u "$expected" "$actual"
