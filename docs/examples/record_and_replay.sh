#!/usr/bin/env bash
# record_and_replay.sh PROGRAM [ARGUMENT...]: runs a program of yours that uses streampool, records what it allocates
# and frees, and replays that without the program: beside CUDA's pool, as a picture, and under each reuse policy.
# record_and_replay.sh --import FILE: replays what another allocator's program recorded. FILE is a snapshot of PyTorch's memory,
#     torch.cuda.memory._record_memory_history()
#     ...
#     torch.cuda.memory._dump_snapshot("snapshot.pickle")
# or a log of RMM's logging_resource_adaptor.
#
# Trace and pictures go to the folder that OUT names; ./recorded if OUT is not set. Without a GPU, STREAMPOOL_DRIVER=sim
# makes the program and the replay use the simulated driver.
set -eu
out=${OUT:-recorded}
trace=$out/run.csv.gz

if [ $# = 0 ]; then
    echo "Usage: record_and_replay.sh PROGRAM [ARGUMENT...], or --import FILE" >&2
    exit 64
fi
mkdir -p "$out"
rm -f "$trace"
if [ "$1" = --import ]; then
    streampool import "$2" -o "$trace"
else
    STREAMPOOL_TRACE=$trace "$@"
fi
if [ ! -e "$trace" ]; then
    echo "$1 has left no trace: it doesn't use streampool, or didn't end by exit()" >&2
    exit 1
fi

# The first pass begins with an empty pool, the second with what the first one left.
echo
echo "Beside CUDA's pool:"
streampool replay --allocator pool,driver --passes 2 "$trace"

# At a synchronise a new pool gives back all free memory, as CUDA's does: its release threshold is 0.
echo
echo "With the release threshold of a new pool:"
streampool replay --threshold 0 --plot "$out/memory.svg" "$trace"

# `policies` uses the simulated driver and adds work after each allocation, because the policies differ in what they do
# while work is pending.
echo
echo "Under each combination of the reuse policies:"
streampool policies --plot "$out/policies.svg" "$trace"

echo
echo "The trace and the pictures are in the folder $out: run.csv.gz, memory.svg, policies.svg"
