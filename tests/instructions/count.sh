#!/usr/bin/env bash
# count.sh PROGRAM LIBRARY LIMITS COMPILER
#
# Counts what a pair of an allocation and a free executes inside the library, on the simulated driver under callgrind, and
# fails when a kind of pair takes more than a tenth more than LIMITS says for the compiler. It also fails when one takes a
# tenth less: then the file is to be brought up to date, lest the gain be lost again unseen.
#
# A pair's instructions are the difference of a long and a short run, by its number of pairs. So nothing is timed, and what a
# process does besides drops out. The driver's own instructions aren't counted. Without valgrind, or a line for the compiler, the
# test is skipped.
set -euo pipefail

program=$1 library=$2 limits=$3 compiler=$4
short=500 long=1500
skipped=77

if ! command -v valgrind > /dev/null; then
    echo "skipped: there is no valgrind here"
    exit "$skipped"
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Valgrind gives up on debug information that is newer than itself, and needs none here.
strip --strip-debug -o "$folder/driver.so" "$STREAMPOOL_DRIVER"
export STREAMPOOL_DRIVER=$folder/driver.so

# Costs stand behind the object that they were spent in; the line after calls= is what the callee spent.
spent_in_library() {  # CALLGRIND_OUTPUT
    awk -v library="/$library" '
        /^c?ob=/ {
            key = $1
            sub(/^c?ob=/, "", key)
            if (NF > 1) is_library[key] = index($0, library) > 0
            if (/^ob=/) counted = is_library[key]
            next
        }
        /^calls=/ { callee = 1; next }
        /^[-+*0-9]/ {
            if (counted && !callee) sum += $2
            callee = 0
        }
        END { printf "%d\n", sum }
    ' "$1"
}

count() {  # KIND PAIRS
    valgrind --tool=callgrind --callgrind-out-file="$folder/out" "$program" "$1" "$2" > "$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        return 1
    }
    spent_in_library "$folder/out"
}

status=0 kinds=0
while read -r kind of_compiler limit; do
    if [[ $kind = \#* || $of_compiler != "$compiler" ]]; then continue; fi
    kinds=$((kinds + 1))
    few=$(count "$kind" "$short")
    many=$(count "$kind" "$long")
    each=$(((many - few) / (long - short)))
    echo "$kind: $each instructions, $limit expected"
    if ((each * 10 > limit * 11 || each * 10 < limit * 9)); then
        echo "$kind: more than a tenth off: if that is meant, set $each in $limits"
        status=1
    fi
done < "$limits"
if ((kinds == 0)); then
    echo "skipped: $limits says nothing of $compiler"
    exit "$skipped"
fi
exit "$status"
