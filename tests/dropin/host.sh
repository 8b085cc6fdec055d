#!/usr/bin/env bash
# host.sh HERE FOLDER DROPIN PROGRAM KIND EXPECTED: host.c's program with the drop-in, on the driver in FOLDER, prints of pools of
# KIND what expected/host_EXPECTED.txt says. None of these pools is the driver's, but for those that can be exported.
set -eu
here=$1 folder=$2 dropin=$3 program=$4 kind=$5 expected=$6

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASAN_OPTIONS=symbolize=0:detect_leaks=0
bash "$here/under.sh" "$dropin" "$folder" "$program" "$kind" > "$work/served" 2> "$work/driver" ||
    { cat "$work/served" "$work/driver"; echo "fails with the drop-in"; exit 1; }
diff -u --label expected --label "with the drop-in" "$here/expected/host_$expected.txt" "$work/served"
if grep "cuMemAllocFromPoolAsync" "$work/driver"; then
    echo "the driver served an allocation"
    exit 1
fi
