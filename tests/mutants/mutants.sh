#!/usr/bin/env bash
# mutants.sh CHECKOUT BUILD [NUMBER...]: builds the library with one mistake after another, each a patch beside this
# script, and shows that a test sees it: the unit test that the patch names, or else the random programs, or else the
# conformance program. Prints a table in Markdown. Without a NUMBER it takes all of them, once it has shown that the
# library passes without a mistake; otherwise the table would say nothing. BUILD is a folder for a copy of the sources,
# which is the one that is patched, and its builds.
#
# Status 1: one was not caught. Status 2: a patch doesn't apply or doesn't build, or the library fails without one.
#
# SEEDS is how many seeds of each set in programs.txt a mutant is given before it counts as not caught (40).
set -u
checkout=$1 build=$2
. "$checkout/tests/configure.sh"
shift 2
seeds=${SEEDS:-40}
mkdir -p "$build" || exit 2
source=$build/source
output=$build/output
shopt -s nullglob
numbered=("$checkout"/tests/mutants/[0-9][0-9]{,[0-9]}_*.patch) # in order

fail() {
    echo "$*" >&2
    exit 2
}

# The script ends with what a step wrote if that fails.
step() { # WHAT COMMAND...
    local what=$1
    shift
    "$@" > "$output" 2>&1 && return
    cat "$output" >&2
    fail "$what"
}

# A file that is the same stays untouched, so that only what has changed is built again; one that an interrupted run has
# left patched is not the same.
copy_sources() {
    local file
    (cd "$checkout" && find CMakeLists.txt include src tests bench docs -type f) | while read -r file; do
        cmp -s "$checkout/$file" "$source/$file" && continue
        mkdir -p "$source/$(dirname "$file")" && cp "$checkout/$file" "$source/$file" || exit 1
    done
}

configure() {
    configure_anew "$build/build" -S "$source" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
        -DSTREAMPOOL_BENCH=OFF -DSTREAMPOOL_INSTALL=OFF -DSTREAMPOOL_TESTS=ON -DSTREAMPOOL_TESTS_CXX=OFF
}

make_target() {
    step "$what_is_built: $1 doesn't build" \
        cmake --build "$build/build" --parallel "$(nproc)" --target "$1" streampool_simcuda
}

patch_sources() { # PATCH DIRECTION
    step "$1 doesn't apply" patch -d "$source" -p1 --fuzz=0 "$2" --no-backup-if-mismatch --reject-file=- < "$1"
}

# What the second line of a patch says, empty where it names no test.
named_test() {
    sed -n '2s/^caught by: //p' "$1"
}

# Each of these sets `caught` when a program fails.
run_unit_test() { # NAME, as sp_add_test knows it, or a test of streampool-room
    local row target=${1%_10020}_test
    case $1 in room*) target=streampool-room ;; esac
    make_target "$target"
    ctest --test-dir "$build/build" -R "^$1\$" --no-tests=error --verbose > "$output" 2>&1 && return 1
    if grep -q '^No tests were found' "$output"; then fail "$what_is_built: no test is called $1"; fi
    row=$(sed -n 's/.*\[  \(FAILED\|ERROR \)  \] \([a-z_0-9]*\)$/\2/p; s/.* FAIL [^ ]*: \([^:]*\).*/\1/p' "$output" |
        head -n 1)
    caught="$1 | | ${row:-the program did not end}"
}

# Adds what passes to `passed`. A program that goes on for minutes is caught too: it hangs.
run_random() {
    local name environment options failed operations
    passed=0
    make_target streampool-random
    while IFS='|' read -r name environment options <&3; do
        case $name in '' | '#'*) continue ;; esac
        failed=
        # shellcheck disable=SC2086
        env $environment timeout 300 "$build/build/bin/streampool-random" --driver sim $options --seeds "$seeds" \
            > "$output" 2>&1 || failed=yes
        operations=$(sed -n 's/^[0-9]* programs, \([0-9]*\) operations$/\1/p' "$output")
        passed=$((passed + ${operations:-0}))
        [ "$failed" ] || continue
        caught="$name | ${operations:-hangs} | $(why)"
        return 0
    done 3< "$checkout/tests/random/programs.txt"
    return 1
}

# What a failed program said, without what differs from run to run.
why() {
    sed -n 's/.* FAIL .*): \([a-z-]*\): .*/\1/p; t; s/.* FAIL .*ended by \(SIG[A-Z]*\)/\1/p; t; s/.* FAIL .*: \(.*\)/\1/p' \
        "$output" | cut -c 1-60 | tr '|' '/' | head -n 1
}

run_conformance() {
    local api group row
    make_target streampool-conformance
    for api in 13000 10020; do
        for group in common simulated; do
            STREAMPOOL_DRIVER_API=$api timeout 600 "$build/build/bin/streampool-conformance" --driver=sim \
                --group=$group > "$output" 2>&1 && continue
            row=$(sed -n 's/^\([a-z_0-9]*\) FAIL .*/\1/p' "$output" | head -n 1)
            caught="conformance | | ${row:-the program did not end}"
            return 0
        done
    done
    return 1
}

run_named_tests() {
    local patch name
    for patch in "${numbered[@]}"; do
        name=$(named_test "$patch")
        if [ "$name" ] && run_unit_test "$name"; then return 0; fi
    done
    return 1
}

# Nothing is caught where nothing is wrong.
require_good_library() {
    if ! run_named_tests && ! run_random && ! run_conformance; then
        echo "Without a mistake: nothing found by $passed operations of random programs, nor by the conformance program."
        echo
        return
    fi
    tail -n 20 "$output" >&2
    fail "the library fails without a mistake: $caught"
}

try_mutant() { # PATCH
    local name
    name=$(named_test "$1")
    caught="**nothing** | |"
    if [ "$name" ] && run_unit_test "$name"; then return 0; fi
    run_random || run_conformance
}

copy_sources || fail "the sources can't be copied to $source"
what_is_built="without a mistake"
step "the copy in $source can't be configured" configure
[ $# -gt 0 ] || require_good_library
wanted=" $* "
echo "| mutant | what is wrong | caught by | operations | how it shows |"
echo "| --- | --- | --- | ---: | --- |"
status=0
for patch in "${numbered[@]}"; do
    what_is_built=$(basename "$patch" .patch)
    number=$((10#${what_is_built%%_*}))
    case $wanted in "  " | *" $number "*) ;; *) continue ;; esac
    patch_sources "$patch" --forward
    try_mutant "$patch" || status=1
    echo "| $number ${what_is_built#*_} | $(head -n 1 "$patch") | $caught |"
    patch_sources "$patch" --reverse
done
exit $status
