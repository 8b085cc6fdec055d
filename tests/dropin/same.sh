#!/usr/bin/env bash
# same.sh HERE FOLDER DROPIN PROGRAM WAY [LIST]: the program prints the same with the drop-in as without it, on the newer driver in
# FOLDER, and as expected/program.txt says. With the drop-in no more calls reach the driver's own pools than expected/driver.txt
# lists: streampool served the others.
set -eu
here=$1 folder=$2 dropin=$3
shift 3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset STREAMPOOL_DRIVER
# A sanitizer would start its symbolizer with the drop-in, too; and only that one knows which leaks are none.
export ASAN_OPTIONS=symbolize=0:detect_leaks=0

env LD_LIBRARY_PATH="$folder" "$@" > "$work/alone" 2> "$work/alone.driver" ||
    { cat "$work"/alone*; echo "fails without the drop-in"; exit 1; }
bash "$here/under.sh" "$dropin" "$folder" "$@" > "$work/served" 2> "$work/served.driver" ||
    { cat "$work"/served*; echo "fails with the drop-in"; exit 1; }
diff -u --label "expected" --label "without the drop-in" "$here/expected/program.txt" "$work/alone"
diff -u --label "without the drop-in" --label "with it" "$work/alone" "$work/served"
diff -u --label "expected of the driver" --label "the driver's part" "$here/expected/driver.txt" "$work/served.driver"
calls=$(wc -l < "$work/alone.driver")
test "$calls" -gt 50 || { echo "without the drop-in the driver's pools had only $calls calls"; exit 1; }
