#!/usr/bin/env bash
# right.sh PROGRAM: the program has no mistake, and none is found, whenever work completes and however threads run.
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for settings in "" ,stacks=1 ,completion=latest ,completion=latest,queue=2 ,granule=64K ,scatter=7 ,api=11020 \
    ,completion=seeded,seed={1..6}; do
    status=0
    STREAMPOOL_SIMCUDA=reports=check$settings "$program" > "$work/output" 2>&1 || status=$?
    if [ "$status" != 0 ] || [ "$(cat "$work/output")" != "streampool check: no mistake found" ]; then
        echo "with reports=check$settings it ends with status $status:"
        cat "$work/output"
        exit 1
    fi
done
