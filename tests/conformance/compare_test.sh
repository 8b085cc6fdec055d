#!/usr/bin/env bash
# compare_test.sh COMPARE
#
# The comparison accepts equal outputs and refuses every other pair.
set -euo pipefail

compare=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

good=$'a ok\nb ok\nc ok\n3 rows: 3 ok, 0 failed, 0 skipped'
printf '%s\n' "$good" >"$folder/expected"

# check NAME STATUS TEXT: what the comparison of the expected output with the text ends with.
options=()
check() {
    local status=0
    printf '%s' "$3" >"$folder/actual"
    bash "$compare" "${options[@]}" "$folder/expected" "$folder/actual" >"$folder/said" || status=$?
    if ((status != $2)); then
        echo "$1: status $status, not $2: $(cat "$folder/said")"
        failures=$((failures + 1))
    fi
}

check equal 0 "$good"$'\n'
check a_failed_row 1 $'a ok\nb FAIL x\nc ok\n3 rows: 2 ok, 1 failed, 0 skipped\n'
check a_skipped_row 1 $'a ok\nb skip x\nc ok\n3 rows: 2 ok, 0 failed, 1 skipped\n'
check a_missing_row 1 $'a ok\nc ok\n2 rows: 2 ok, 0 failed, 0 skipped\n'
check a_row_too_many 1 $'a ok\nb ok\nc ok\nd ok\n4 rows: 4 ok, 0 failed, 0 skipped\n'
check another_order 1 $'b ok\na ok\nc ok\n3 rows: 3 ok, 0 failed, 0 skipped\n'
check no_summary 1 $'a ok\nb ok\nc ok\n'
check nothing 1 ''

printf 'a ok\nb skip x\n2 rows: 1 ok, 0 failed, 1 skipped\n' >"$folder/expected"
check a_row_skipped_in_both 1 $'a ok\nb skip x\n2 rows: 1 ok, 0 failed, 1 skipped\n'
options=(--skips)
check a_row_that_may_be_skipped_in_both 0 $'a ok\nb skip x\n2 rows: 1 ok, 0 failed, 1 skipped\n'
check a_row_skipped_for_another_reason 1 $'a ok\nb skip y\n2 rows: 1 ok, 0 failed, 1 skipped\n'
check a_row_that_is_not_to_be_skipped 1 $'a skip x\nb skip x\n2 rows: 0 ok, 0 failed, 2 skipped\n'
check a_row_that_failed_instead 1 $'a ok\nb FAIL x\n2 rows: 1 ok, 1 failed, 0 skipped\n'

((failures == 0)) && echo "all as it must be"
