#!/usr/bin/env bash
# endings.sh PROGRAM: what is told at the end of a program that makes mistakes, and with which status it ends.
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

complain() { # WHAT
    echo "not so: $1"
    cat "$work/errors"
    failures=$((failures + 1))
}

# STATUS SETTINGS ARGUMENT...: the program ends with that status.
run() {
    local wanted=$1 status=0
    export STREAMPOOL_SIMCUDA=reports=check$2
    shift 2
    "$program" "$@" > "$work/output" 2> "$work/errors" || status=$?
    [ "$status" = "$wanted" ] || complain "$* ends with status $wanted; it is $status"
}

# PATTERN: a line of standard error is such a one.
told() {
    grep -qxE "$1" "$work/errors" || complain "it is told: $1"
}

run 5 "" leak
run 3 "" leak 3
told 'streampool check: 1 mistake found: leak 1'
run 5 "" leaks_of_many_sizes
told 'streampool check: 1002 mistakes found: leak 1000, not printed 2'
run 143 "" leak_and_die
[ ! -s "$work/errors" ] || complain "a program that a signal ends says nothing"
run 5 "" leak_while_a_thread_reads
grep -qx done "$work/output" || complain "what the program wrote is not lost"
run 5 "" leak_of_a_parent
[ "$(grep -c ' found: ' "$work/errors")" = 1 ] || complain "a child that does not use the driver says nothing"

# Call stacks begin with the program's own call.
run 5 ,stacks=1 leak_by_name
told 'streampool check:   where "the block" was allocated:'
grep -q 'at leak_by_name+0x' "$work/errors" || complain "a stack has the function's name"
if grep -q 'at .*libstreampool' "$work/errors"; then complain "a stack has no function of streampool"; fi
run 5 "" leak_by_name
if grep -q ' at ' "$work/errors"; then complain "without stacks=1 there is no stack"; fi

# The file is whole, whatever names there are.
export STREAMPOOL_SIMCUDA_JSON=$work/found.json
run 5 ,stacks=1 strange_name
python3 - "$work/found.json" << 'END' || complain "the file says what was found"
import json, sys
found = json.load(open(sys.argv[1], encoding="utf-8"))
assert found["mistakes"] == 1 and found["counts"] == {"out-of-bounds": 1}, found
[finding] = found["findings"]
assert finding["kind"] == "out-of-bounds" and finding["count"] == 1 and finding["text"], finding
work, block = finding["sides"]
assert work["name"] == '"\\\n\u00e4\u00ff\u00e2\u0082', work
assert work["stream"] == "stream 1" and work["thread"] == 1 and work["thread_name"] is None, work
assert work["does"] == "writes" and work["size"] == 4097 and int(work["address"], 16) > 0, work
assert block["name"] == "the block" and block["stream"] is None and block["size"] == 4096, block
assert work["stack"] and block["stack"], finding
END
[ "$(grep -c 'out-of-bounds: ' "$work/errors")" = 1 ] || complain "a name with a new line is one line"

run 5 "" use_of_what_a_thread_freed
python3 - "$work/found.json" << 'END' || complain "the file names threads"
import json, sys
[finding] = json.load(open(sys.argv[1], encoding="utf-8"))["findings"]
assert [side["thread_name"] for side in finding["sides"]] == [None, "cleaner", None], finding
assert [side["thread"] for side in finding["sides"]] == [1, 2, 1], finding
END

STREAMPOOL_SIMCUDA_JSON=$work/none/found.json run 5 "" leak
told "streampool check: $work/none/found.json can't be written: No such file or directory"
STREAMPOOL_SIMCUDA_JSON=found.json run 5 "" leak
told 'streampool check: STREAMPOOL_SIMCUDA_JSON=found.json is ignored: it names a file by its whole path'
rm "$work/found.json"
run 5 "" leak_and_clear_the_environment
[ -s "$work/found.json" ] || complain "the file is written though the program clears its environment"
mkdir "$work/folder"
STREAMPOOL_SIMCUDA_JSON=$work/folder/ run 5 "" leak
STREAMPOOL_SIMCUDA_JSON=$work/folder/ run 5 "" leak
[ "$(cat "$work"/folder/*.json | grep -c '"kind": "leak"')" = 2 ] || complain "each process has a file in a folder"
STREAMPOOL_SIMCUDA_JSON=/dev/full run 5 "" leak
told "streampool check: /dev/full can't be written: No space left on device"

[ "$failures" = 0 ]
