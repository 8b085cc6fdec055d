#!/usr/bin/env bash
# watch.sh CHECKOUT: what tests/watch.sh takes for a hang. Measurements and times are made up: no test runs, and no time passes.
set -euo pipefail
watch_folder=$(mktemp -d)
trap 'rm -rf "$watch_folder"' EXIT
. "$1/tests/watch.sh"

# Of four tests: 1 does nothing, 2 writes now and then, 3 computes and writes nothing, 4 starts only after the first look.
measure_tests() {
    echo "1 50 10"
    echo "2 50 $((now / 300))"
    echo "3 $((now * 100)) 0"
    if [ "$now" -gt 0 ]; then echo "4 0 0"; fi
}

hung_at() { # SECONDS
    now=$1
    find_hung 0 "$now" | tr '\n' ' '
}

expect() { # SECONDS TESTS
    local hung
    hung=$(hung_at "$1")
    test "$hung" = "$2" || { echo "after $1 s '$hung' hang, not '$2'"; exit 1; }
}

expect 0 ""
expect 300 ""
expect 590 ""
expect 600 "1 "
expect 890 "1 "
expect 900 "1 4 "
expect 1790 "1 4 "
expect 1800 "1 3 4 "
