#!/usr/bin/env bash
# replay.sh FOLDER STREAMPOOL ARGUMENT...: runs FOLDER/record_and_replay.sh with the arguments, with the program STREAMPOOL, in a
# folder of its own. It leaves a trace and two pictures, and its tables have a row for each replay: with CUDA's pool, where the
# driver has one, or not, at least three, and one for each of eight policies. A program that leaves no trace is refused then, and the
# trace that was there isn't taken for its own.
set -euo pipefail
script=$1/record_and_replay.sh program=$2
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PATH=$(dirname "$program"):$PATH
bash "$script" "$@" | tee output

test -s recorded/run.csv.gz
for picture in memory policies; do
    grep -q '</svg>' "recorded/$picture.svg"
done
rows=$(grep -c '^run ' output)
if [ "$rows" -lt 11 ]; then
    echo "$rows rows of the replay are too few"
    exit 1
fi

if bash "$script" true > output 2> errors; then
    echo "the trace of another program is replayed:"
    cat output
    exit 1
fi
grep -q '^true has left no trace' errors
