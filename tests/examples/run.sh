#!/usr/bin/env bash
# run.sh FOLDER EXAMPLE COMMAND [ARGUMENT...]: the command, which runs an example of FOLDER, succeeds and prints what FOLDER/README.md
# shows below the heading EXAMPLE; a line of three dots there is any number of lines. Times may differ. The simulated driver finds no
# misuse, and nothing is alive at the end but what the library keeps for the process.
set -euo pipefail
folder=$1 example=$2
shift 2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { # MESSAGE FILE...
    echo "$example $1"
    shift
    cat "$@"
    exit 1
}

# Figures of time have a unit, or a name that ends with Time beside them.
mask_times() {
    sed -E -e 's/[0-9.]+ (ns|us|µs|ms|s)([ ,]|$)/# \1\2/g' -e 's/(Time) +[0-9]+/\1 #/' -e 's/ +/ /g'
}

expected() {
    awk -v heading="### $example" '
        /^#/ { here = $0 == heading }
        here && /^```/ { inside = !inside; next }
        here && inside { print }
    ' "$folder/README.md"
}

status=0
STREAMPOOL_SIMCUDA=reports=print "$@" > "$work/output" 2> "$work/errors" || status=$?
if [ "$status" != 0 ]; then
    fail "ended with status $status" "$work/output" "$work/errors"
fi
if grep -E 'simulated driver: ' "$work/errors" | grep -vE ': leak: (memory of .* from cuMemCreate|memory \[.* from cuMemMap|address range|an event)' > "$work/reports"; then
    fail "misuses the driver" "$work/reports"
fi

expected | mask_times > "$work/expected"
mask_times < "$work/output" > "$work/actual"
test -s "$work/expected" || fail "has no output in $folder/README.md"
awk '
    NR == FNR { actual[++count] = $0; next }
    $0 == "..." { skip = 1; next }
    {
        at++
        while (skip && at <= count && actual[at] != $0) at++
        skip = 0
        if (actual[at] != $0 || at > count) { print "README.md, in its order: " $0; exit failed = 1 }
    }
    END { if (!failed && !skip && at < count) { print "not in README.md: " actual[at + 1]; exit 1 } }
' "$work/actual" "$work/expected" || fail "prints something else:" "$work/output"
