#!/usr/bin/env bash
# mutants.sh CHECKOUT BUILD [MUTANT...]: builds the library with one mistake after another (src/base/mutant.h) and shows
# that the random programs see it, or else the conformance program. Prints a table in Markdown. Without a MUTANT, a
# number, it takes all of them, once it has shown that the library passes without a mistake; otherwise the table would say
# nothing, and it ends with status 2. Status 1: one was not caught. BUILD is a folder for the builds.
#
# SEEDS is how many seeds of each set in programs.txt a mutant is given before it counts as not caught (40).
set -u
checkout=$1 build=$2
shift 2
seeds=${SEEDS:-40}
here=$(dirname "${BASH_SOURCE[0]}")
output=$build/output

# number, name and text of every mutant
list() {
    sed -n 's/^ *X(\([A-Za-z]*\), \([0-9]*\), "\(.*\)").*/\2 \1 \3/p' "$checkout/src/base/mutant.h"
}

make_mutant() {
    cmake -S "$checkout" -B "$build" -DSTREAMPOOL_MUTANT="$1" -DCMAKE_BUILD_TYPE=Debug \
        -DSTREAMPOOL_BENCH=OFF -DSTREAMPOOL_CLI=OFF -DSTREAMPOOL_INSTALL=OFF > "$output" 2>&1 &&
        cmake --build "$build" --parallel "$(nproc)" --target "$2" streampool_simcuda >> "$output" 2>&1 && return
    cat "$output"
    exit 1
}

# Sets `caught` when a program fails, and adds what passes to `passed`. A program that goes on for minutes is caught
# too: it hangs.
run_random() {
    local name environment options failed operations
    passed=0
    while IFS='|' read -r name environment options <&3; do
        case $name in '' | '#'*) continue ;; esac
        failed=
        # shellcheck disable=SC2086
        env $environment timeout 300 "$build/bin/streampool-random" --driver sim $options --seeds "$seeds" \
            > "$output" 2>&1 || failed=yes
        operations=$(sed -n 's/^[0-9]* programs, \([0-9]*\) operations$/\1/p' "$output")
        passed=$((passed + ${operations:-0}))
        [ "$failed" ] || continue
        caught="$name | ${operations:-hangs} | $(why)"
        return 0
    done 3< "$here/programs.txt"
    return 1
}

# What a failed program said, without what differs from run to run.
why() {
    sed -n 's/.* FAIL .*): \([a-z-]*\): .*/\1/p; t; s/.* FAIL .*ended by \(SIG[A-Z]*\)/\1/p; t; s/.* FAIL .*: \(.*\)/\1/p' \
        "$output" | cut -c 1-60 | tr '|' '/' | head -n 1
}

run_conformance() {
    local api group row
    make_mutant "$1" streampool-conformance
    for api in 13000 10020; do
        for group in common simulated; do
            STREAMPOOL_DRIVER_API=$api timeout 600 "$build/bin/streampool-conformance" --driver=sim --group=$group \
                > "$output" 2>&1 && continue
            row=$(sed -n 's/^\([a-z_0-9]*\) FAIL .*/\1/p' "$output" | head -n 1)
            caught="conformance | | ${row:-the program did not end}"
            return 0
        done
    done
    return 1
}

# Nothing is caught where nothing is wrong.
require_good_library() {
    make_mutant 0 streampool-random
    caught=
    if ! run_random && ! run_conformance 0; then
        echo "Without a mistake: nothing found by $passed operations of random programs, nor by the conformance program."
        echo
        return
    fi
    echo "the library fails without a mistake: $caught"
    tail -n 20 "$output"
    exit 2
}

mkdir -p "$build"
[ $# -gt 0 ] || require_good_library
echo "| mutant | what is wrong | caught by | operations | how it shows |"
echo "| --- | --- | --- | ---: | --- |"
status=0
while read -r number name text <&4; do
    case " ${*:-$number} " in *" $number "*) ;; *) continue ;; esac
    make_mutant "$number" streampool-random
    caught="**nothing** | |"
    run_random || run_conformance "$number" || status=1
    echo "| $number $name | $text | $caught |"
done 4< <(list)
exit $status
