#!/usr/bin/env bash
# tools.sh BUILD CUDA PROGRAM [FOLDER]: on a machine with a GPU, runs a program that compare.sh has built under CUDA's compute-sanitizer,
# alone and with the drop-in of the build folder BUILD, which prints the same. Under the tool CUDA's own pool may end the program early
# (so does that of driver 580 at a graph's memory): then what was printed until there is compared.
set -u
build=$(cd "$1" && pwd) cuda=$2 program=$3
work=${4:-$(mktemp -d)}
tool=$(command -v compute-sanitizer || echo "$cuda/bin/compute-sanitizer")
failed=0
for kind in memcheck racecheck; do
    timeout 200 "$tool" --tool $kind --log-file "$work/$kind.cuda.log" "$program" > "$work/$kind.cuda" 2>&1
    code=$?
    timeout 200 "$tool" --tool $kind --log-file "$work/$kind.ours.log" env LD_PRELOAD="$build/lib/libstreampool_dropin.so" "$program" \
        > "$work/$kind.ours" 2>&1
    ours=$?
    echo "$kind: status $code and $ours"
    grep -h "ERROR SUMMARY" "$work/$kind.cuda.log" "$work/$kind.ours.log"
    lines=$(wc -l < "$work/$kind.cuda")
    diff <(grep -v "^reserved" "$work/$kind.cuda") <(head -n "$lines" "$work/$kind.ours" | grep -v "^reserved") || failed=1
    [ "$ours" = 0 ] || failed=1
done
exit $failed
