#!/usr/bin/env bash
# run.sh [--skips] PROGRAM EXPECTED [OPTION...]
#
# Runs the conformance program and compares its output with a file, as compare.sh does.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
compare=(bash "$here/compare.sh")
if [[ ${1-} == --skips ]]; then
    compare+=(--skips)
    shift
fi
program=$1
expected=$2
shift 2

actual=$(mktemp)
trap 'rm -f "$actual"' EXIT
status=0
"$program" "$@" >"$actual" || status=$?
"${compare[@]}" "$expected" "$actual"
exit "$status"
