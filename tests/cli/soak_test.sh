#!/usr/bin/env bash
# soak_test.sh CHECKOUT PROGRAM
#
# A soak of a few passes of small traces: each load is replayed in each mode, and has its rows in the tables. And its judge:
# what holds is let through, and what creeps isn't, nor what was never measured.
set -euo pipefail

checkout=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
    echo "$1" >&2
    cat output >&2
    exit 1
}

run() {  # EXPECTED_STATUS COMMAND...
    local expected=$1 status=0
    shift
    "$@" > output 2>&1 || status=$?
    [ "$status" = "$expected" ] || fail "exit status $status, not $expected: $*"
}

says() {
    grep -qF -- "$1" output || fail "'$1' isn't said"
}

# --------------------------------------------------------------------------------------------------------------- the judge

result() {  # TRACE ALLOCATOR PASS RESERVED [KEYS]: live are 1,000 bytes
    echo "{\"trace\": \"$1\", \"allocator\": \"$2\", \"pass\": $3, \"reserved_peak_bytes\": $4, \"live_peak_bytes\": 1000,
        \"errors\": 0 ${5:+, $5}}"
}

results() {  # FILE: makes a list of the results on standard input
    jq -s . > "$1.json"
}

starts() {  # TRACE PASS RESERVED...: as --perturb writes them
    local trace=$1 pass=$2
    shift 2
    result "$trace" pool "$pass" 0 "\"starts\": [$(printf '{"reserved_peak_bytes": %s, "live_peak_bytes": 1000},' "$@" |
        sed 's/,$//')]"
}

judge() {  # EXPECTED_STATUS ARGUMENT...
    local expected=$1
    shift
    run "$expected" bash "$checkout/tests/creep.sh" "$@"
}

{ result flat pool 10 1100; result flat pool 50 1111; result falls pool 10 1100; result falls pool 50 1000; } | results holds
judge 0 holds.json
says "stays  flat, pool: 1.1 after pass 10, 1.111 after pass 50: 1 %"
says "stays  falls, pool: "

{ result flat pool 10 1100; result flat pool 50 1100; result flat promised 10 1100; result flat promised 50 1112; } | results creeps
judge 1 creeps.json
says "stays  flat, pool: "
says "CREEPS flat, promised: 1.1 after pass 10, 1.112 after pass 50: 1.09 %"
judge 1 holds.json creeps.json holds.json
judge 0 --percent 1.1 creeps.json
judge 1 --percent 0.5 holds.json

# What came before pass 10 doesn't count, nor what lies between.
{ result early pool 1 1000; result early pool 10 1500; result early pool 30 1900; result early pool 50 1500; } | results early
judge 0 early.json
judge 1 --from 1 --to 50 early.json
judge 1 --from 10 --to 30 early.json

{ starts one 10 1000 1000 1000; starts one 50 1000 1500 1000; } | results one_start
judge 0 one_start.json
{ starts most 10 1000 1000 1000; starts most 50 1500 1500 1000; } | results most_starts
judge 1 most_starts.json
says "CREEPS most, pool: 1 after pass 10, 1.5 after pass 50: 50 %"

# Of traces in turn the last turn has the round, whatever the others have.
{
    for turn in 1 2; do
        result "trace$turn" pool 10 1200 "\"turn\": $turn"
        result "trace$turn" pool 50 "$((2400 / turn))" "\"turn\": $turn"
    done
} | results "in turn"
judge 0 "in turn.json"
says "stays  in turn, pool: 1.2 after pass 10, 1.2 after pass 50: 0 %"

{ result short pool 10 1000; result short pool 49 1000; } | results short
judge 1 short.json
says "FAILED short, pool: nothing was in use, or pass 10 or 50 is missing"
{ result failed pool 10 1000; result failed pool 11 1000; result failed pool 50 1000; } |
    jq 'if .pass == 11 then .errors = 3 else . end' | results failed
judge 1 failed.json
says "FAILED failed, pool: 3 calls failed"
{ result empty pool 10 1000; result empty pool 50 1000; } | jq '.live_peak_bytes = 0' | results empty
judge 1 empty.json
says "FAILED empty, pool: nothing was in use"
results nothing < /dev/null
echo '{' > broken.json
for file in nothing broken missing; do
    judge 1 "$file.json" holds.json
    says "FAILED $file.json can't be read"
    says "stays  flat, pool: "
done
judge 64
judge 64 --from 50 --to 10 holds.json
judge 64 --percent some holds.json
judge 64 --from

# ---------------------------------------------------------------------------------------------------------------- the soak

trace() {  # FILE SIZE STREAM...: a block on each stream in turn
    local file=$1 size=$2 stream
    shift 2
    {
        echo "Thread,Time,Action,Pointer,Size,Stream"
        for stream; do
            echo "1,0,allocate,0x1000,$size,$stream"
            echo "1,0,free,0x1000,$size,$stream"
        done
    } > "$file"
}
trace single.csv 67108864 3
trace double.csv 33554432 3 4
trace triple.csv 50331648 3 4 5
gzip triple.csv
{  # the legacy stream orders the other one, so it can't be promised not to
    echo "Thread,Time,Action,Pointer,Size,Stream"
    echo "1,0,blocking stream,0,0,3"
    echo "1,0,allocate,0x1000,16777216,3"
    echo "1,0,free,0x1000,16777216,0"
} > bound.csv

soak() {  # EXPECTED_STATUS ARGUMENT...
    local expected=$1
    shift
    run "$expected" bash "$checkout/bench/soak.sh" --no-install --program "$program" --passes 3 --starts 2 --jobs 2 "$@"
}

soak 0 --modes kept,trimmed "$folder/all" single.csv double.csv triple.csv.gz bound.csv
while IFS='|' read -r load allocator file; do
    rows=$(grep -c "^| $load | $allocator | " all/soak.md || true)
    [ "$rows" = 4 ] || fail "$rows rows of the tables, and not 4, are of $load with $allocator"
    for mode in kept trimmed; do
        [ -s "all/$mode.$file.json" ] || fail "there are no results of $load in mode $mode"
    done
done << END
single|pool|single
single|promised|single
triple|promised|triple
bound|pool|bound
all in turn|pool|all in turn, pool
all in turn without bound|promised|all in turn without bound, promised
many streams in turn|pool|many streams in turn, pool
many streams in turn without bound|promised|many streams in turn without bound, promised
END
[ "$(grep -c '^| [^l].* | ' all/soak.md)" = $((4 * (7 + 4) + 4)) ] || fail "the tables have other rows, too"
says "| pass 1 | pass 2 | pass 3 | pass 3 over 1 |"
says "| load | allocator | nothing | all that is free, between passes |"
judge 0 --from 2 --to 3 all/kept.*.json
says "stays  many streams in turn without bound, promised: "

# Growths and remapped extents of the last pass: no growth where all is kept, and some where all was given back.
grep -qE '^\| single \| pool \| 0, 0, [0-9.]+ \| [1-9][0-9]*, 0, ' all/soak.md || fail "a trim changes nothing"

soak 0 --allocator pool few single.csv
cmp <(cd few && ls ./*.json) <(printf './%s.single.json\n' kept threshold-0 threshold-half trimmed) || fail "not all modes were replayed"
says "| load | allocator | nothing | all that is free, between passes | what is free above half of the live peak, every "

soak 64 --modes kept,more few single.csv
says "bench/soak.sh: there is no mode 'more'"
mkdir other
cp single.csv other/
soak 64 few single.csv other/single.csv
says "bench/soak.sh: two traces have the name single"
echo damaged > damaged.csv
soak 1 few single.csv damaged.csv
says "damaged.csv:1: "
soak 1 --allocator promised few bound.csv
says "bench/soak.sh: no trace can be replayed"
STREAMPOOL_SIMCUDA=memory=16M soak 1 few single.csv
says "FAILED: single, pool, with nothing given back: "
soak 1 --passes 1001 few single.csv
says "FAILED: kept.single"
says "--passes is a number from 1 to 1000"
