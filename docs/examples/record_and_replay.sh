#!/usr/bin/env bash
# record_and_replay.sh PROGRAM [ARGUMENT...]: runs a program of yours that uses streampool, records what it allocates
# and frees, and replays that without the program: beside CUDA's pool, as a picture, and under each reuse policy.
# record_and_replay.sh --import FILE: does so with what others recorded. FILE is a snapshot of PyTorch's memory,
#     torch.cuda.memory._record_memory_history()
#     ...
#     torch.cuda.memory._dump_snapshot("snapshot.pickle")
# or a log of RMM's logging_resource_adaptor.
#
# Trace and pictures go to the folder OUT names, ./recorded if it is not set. Without a GPU, STREAMPOOL_DRIVER=sim
# runs and replays on the simulated driver.
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

# A new pool gives back at a synchronise what is free, as CUDA's does: its release threshold is 0.
echo
echo "With the release threshold of a new pool:"
streampool replay --threshold 0 --plot "$out/memory.svg" "$trace"

# The simulated driver puts work behind the allocations here: which stream gets what depends on when work ends.
echo
echo "Under each combination of the reuse policies:"
streampool policies --plot "$out/policies.svg" "$trace"

echo
echo "$out has the trace, and what memory was live, pending and pinned: memory.svg, policies.svg"
