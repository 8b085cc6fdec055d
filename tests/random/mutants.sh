#!/usr/bin/env bash
# mutants.sh CHECKOUT BUILD [MUTANT...]: builds the library with one mistake after another (src/base/mutant.h) and shows
# that the random programs see it, or else the conformance program. Without a MUTANT, a number, it takes all of them.
# Prints a table in Markdown; ends with status 1 when one is not caught, and with 2 when the library fails without a
# mistake, for then the table would say nothing. BUILD is a folder for the builds.
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
        cmake --build "$build" --target "$2" streampool_simcuda >> "$output" 2>&1 && return
    cat "$output"
    exit 1
}

# Sets `caught`. A program that goes on for minutes is caught too: it hangs.
run_random() {
    local name environment options
    while IFS='|' read -r name environment options <&3; do
        case $name in '' | '#'*) continue ;; esac
        # shellcheck disable=SC2086
        env $environment timeout 300 "$build/bin/streampool-random" --driver sim $options --seeds "$seeds" \
            > "$output" 2>&1 && continue
        operations=$(sed -n 's/^[0-9]* programs, \([0-9]*\) operations$/\1/p' "$output")
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
    run_random || run_conformance 0 || return 0
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
