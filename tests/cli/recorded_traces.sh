#!/usr/bin/env bash
# recorded_traces.sh PROGRAM FOLDER: each trace of the folder has a row in its README.md, each row a trace, and the numbers of the
# row are those of the trace. Each can be replayed twice on one pool, with no errors.
set -eu -o pipefail
program=$1 folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "TRACE OPERATIONS STREAMS" of the tables that have these columns.
awk -F ' *[|] *' '
    $2 == "trace" { for (i = 3; i <= NF; i++) column[$i] = i; next }
    /^[|] [a-z0-9_]+ [|] [0-9]/ { gsub(",", ""); print $2, $column["operations"], $column["streams"] }
' "$folder/README.md" | sort > "$work/told"

"$program" replay --device sim --allocator pool --passes 2 --json "$work/json" "$folder"/*.csv.gz > /dev/null || [ $? = 4 ]
tr -d '",\t' < "$work/json" | awk -F: '
    $1 == "trace" { trace = $2 }
    $1 == "pass" { pass = $2 }
    $1 == "operations" { operations = $2 }
    $1 == "streams" { streams = $2 }
    $1 == "errors" && $2 != 0 { print trace ", pass " pass ": " $2 " errors"; bad = 1 }
    $1 == "errors" && pass == 2 { print trace, operations, streams > replayed }
    END { exit bad }
' replayed="$work/unsorted"
sort "$work/unsorted" > "$work/replayed"
for trace in "$folder"/*.csv.gz; do basename "$trace" .csv.gz; done | sort > "$work/there"

diff "$work/told" "$work/replayed" || { echo "README.md has other numbers (<) than the traces (>)"; exit 1; }
cut -d ' ' -f 1 "$work/replayed" | diff "$work/there" - || { echo "not each trace was replayed twice"; exit 1; }
