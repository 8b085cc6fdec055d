#!/usr/bin/env bash
# faults.sh PROGRAM: each mistake that PROGRAM can make is found and named in exactly one line, and ends it with status 5.
set -euo pipefail
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

complain() { # FAULT MESSAGE
    echo "$1: $2"
    cat "$work/errors"
    failures=$((failures + 1))
}

# FAULT KIND TEXT: what must stand in the line, a regular expression.
expect() {
    local status=0
    STREAMPOOL_SIMCUDA=reports=check "$program" "$1" > "$work/output" 2> "$work/errors" || status=$?
    grep -qx done "$work/output" || complain "$1" "does not come to its end, or its output is lost"
    [ "$status" = 5 ] || complain "$1" "ends with status $status"
    [ "$(grep -cvE '^streampool check: (found [0-9]+ times|1 mistake found): ' "$work/errors")" = 1 ] || complain "$1" "is not one line"
    grep -qE "^streampool check: $2: $3\$" "$work/errors" || complain "$1" "is not found as $2: $3"
    grep -qx "streampool check: 1 mistake found: $2 1" "$work/errors" || complain "$1" "is not summed up"
}

bytes='\[0x[0-9a-f]+, 0x[0-9a-f]+\)'
block() { # SIZE NUMBER
    echo "the block of $1 bytes from cuMemAlloc #$2"
}
pool_block() { # SIZE NUMBER
    echo "the block of $1 bytes from a pool, allocation #$2"
}

expect race_of_kernels race \
    "\"sp_fill\" on stream 2 \(thread 1\) writes bytes that \"sp_fill\" on stream 1 \(thread 1\) writes, and nothing orders the two: $bytes of $(block 4096 1)"
expect race_of_copy_and_kernel race \
    "\"sp_fill\" on stream 2 \(thread 1\) writes bytes that \"copy to device\" on stream 1 \(thread 1\) writes, and nothing orders the two: $bytes of $(block 4096 1)"
expect race_of_host_and_kernel race \
    "\"copy to host\" on the default stream \(thread 1\) reads bytes that \"sp_fill\" on stream 1 \(thread 1\) writes, and nothing orders the two: $bytes of $(block 4096 1)"
expect race_that_nobody_waits_for race \
    "\"sp_fill\" on stream 1 \(thread 1\) writes bytes that \"sp_fill\" on stream 2 \(thread 1\) writes, and nothing orders the two: $bytes.*"
expect source_changed_too_early source-changed \
    "\"copy to device\" on stream 1 \(thread 1\) reads $bytes, which the host changed after the call and before the copy read it"
expect race_of_copies_to_the_host race \
    "\"copy to host\" on stream 2 \(thread 1\) writes bytes that \"copy to host\" on stream 1 \(thread 1\) writes, and nothing orders the two: $bytes"
expect race_in_a_loop race "\"sp_fill\" on stream 2 .*"
grep -qE '^streampool check: found 10 times: race: ' "$work/errors" || complain race_in_a_loop "is not counted"
expect use_after_free use-after-free \
    "\"sp_fill\" on stream 1 \(thread 1\) writes $bytes of $(block 4096 1), which was freed on stream 1 \(thread 1\) before"
expect use_after_free_of_a_pool use-after-free \
    "\"sp_fill\" on stream 2 \(thread 1\) writes $bytes of $(pool_block 4096 1), which was freed on stream 1 \(thread 1\) before"
expect out_of_bounds out-of-bounds \
    "\"sp_fill\" on stream 1 \(thread 1\) writes $bytes, which is 96 bytes past the end of $(block 4000 1)"
expect out_of_bounds_of_a_pool out-of-bounds \
    "\"memset\" on stream 1 \(thread 1\) writes $bytes, which is 100 bytes past the end of $(pool_block 1000 '[12]')"
expect early_free early-free \
    "cuMemFreeAsync on stream 2 \(thread 1\) frees $(block 4096 1), and nothing orders that after \"sp_fill\" on stream 1 \(thread 1\), which writes $bytes there"
expect early_free_of_a_pool early-free \
    "a free on stream 1 \(thread 1\) frees $(pool_block 4096 1), and nothing orders that after \"sp_fill\" on stream 2 \(thread 1\), which writes $bytes there"
expect early_free_by_the_host early-free \
    "a free by thread 1 frees $(pool_block 4096 1), and nothing orders that after \"sp_fill\" on stream 1 \(thread 1\), which writes $bytes there"
expect free_twice bad-free \
    "cuMemFree of 0x[0-9a-f]+ frees $(block 4096 1) a second time; it was freed by thread 1"
expect free_twice_to_a_pool bad-free \
    "a free of 0x[0-9a-f]+ frees $(pool_block 4096 1) a second time; it was freed on stream 1 \(thread 1\)"
expect free_of_the_middle bad-free \
    "cuMemFree of 0x[0-9a-f]+ does not name the first byte of a block, but one 16 bytes behind that of $(block 4096 1)"
expect leak leak "$(block 4096 1), allocated by thread 1, was never freed"
expect leak_of_a_pool leak "$(pool_block 4096 1), allocated by thread 1, was never freed"
expect unmap_under_work unmap-in-use \
    "cuMemUnmap takes away $bytes, which \"sp_fill\" on stream 1 \(thread 1\) uses, while that is pending"
expect unsafe_call_in_a_capture capture-unsafe-call \
    "cuMemAlloc is not allowed while stream 1 captures, and ends the capture as invalid"
expect use_of_a_destroyed_stream use-of-destroyed-stream \
    "cuMemsetD8Async names stream 2, which was destroyed"
expect use_of_what_a_thread_freed use-after-free \
    "\"sp_fill\" on stream 1 \(thread 1\) writes $bytes of $(block 4096 1), which was freed by thread 2, \"cleaner\" before"

[ "$failures" = 0 ]
