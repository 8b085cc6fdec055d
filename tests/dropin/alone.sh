#!/usr/bin/env bash
# alone.sh HERE FOLDER DROPIN PROGRAM WAY: on a driver without pools, the one in FOLDER, the program prints with the drop-in what
# expected/program_without_pools.txt says, and no pool call reaches the driver.
set -eu
here=$1 folder=$2 dropin=$3
shift 3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset STREAMPOOL_DRIVER
export ASAN_OPTIONS=symbolize=0:detect_leaks=0

env LD_LIBRARY_PATH="$folder" LD_PRELOAD="$dropin" "$@" > "$work/served" 2> "$work/served.driver" ||
    { cat "$work"/served*; echo "fails with the drop-in"; exit 1; }
diff -u --label "expected" --label "with the drop-in" "$here/expected/program_without_pools.txt" "$work/served"
diff -u --label "nothing" --label "the driver's part" /dev/null "$work/served.driver"
