#!/usr/bin/env bash
# run.sh PROGRAM EXPECTED [OPTION...]
#
# Runs the conformance program and compares its output with a file.
set -euo pipefail

here=$(dirname "${BASH_SOURCE[0]}")
program=$1
expected=$2
shift 2

actual=$(mktemp)
trap 'rm -f "$actual"' EXIT
status=0
"$program" "$@" >"$actual" || status=$?
bash "$here/compare.sh" "$expected" "$actual"
exit "$status"
