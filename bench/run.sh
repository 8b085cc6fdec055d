#!/usr/bin/env bash
# Measures everything that docs/benchmarks.md has a table of, beside CUDA's own pool:
#
#   bash bench/run.sh [--no-install] [FOLDER]
#
# Builds a release, runs all cases of streampool-bench and replays the traces, and writes what they print and the same
# as JSON into the folder (build/bench-results), and plots of it as SVG. On the GPU if there is one, else on the
# simulated driver, whose times are those of the simulation; each text says so. A measurement that fails is named, and
# the others are made. `python3 bench/page/page.py take FOLDER/*.json` puts what was measured on a GPU into the page.
# Packages that are missing are installed with apt-get, by sudo where that is necessary; with --no-install they are only
# named.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tests/help.sh"
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")

results=$root/build/bench-results
install=yes
for argument; do
    case $argument in
        --no-install) install=no ;;
        -*) echo "usage: bash bench/run.sh [--no-install] [FOLDER]; there is no option $argument" >&2; exit 64 ;;
        *) results=$(realpath -m "$argument") ;;
    esac
done

cd "$root"
. bench/build.sh

programs=build/bench/bin
cases="pair live mam sizes growth loop alternate handoff ahead streams threads unfenced kinds stall fragments full after cold_lanes host copy"
growing="ended_threads ended_streams ended_contexts ended_slots user_events queries pending many_pools given_up
    fixed_sizes many_holes"
divide=10
traces=$(printf 'bench/traces/%s.csv.gz ' gnn_random gpt2_train resnet_multires infer_streams serve_chat)
threaded=$(printf 'bench/traces/%s.csv.gz ' cupy_streams torch_threads video_pipeline)
failed=()

# Runs one measurement, which takes --json; what it prints is shown and kept.
measure() {  # NAME COMMAND...
    local name=$1
    shift
    echo
    echo "== $name"
    "$@" --json "$results/$name.json" 2>&1 | tee "$results/$name.txt" || failed+=("$name")
}

replay() {  # NAME OPTION... TRACE...
    local name=$1
    shift
    measure "$name" "$programs/streampool" replay --wide --allocator pool,promised,driver "$@"
}

build_release build/bench "$install" -DSTREAMPOOL_BENCH=ON
mkdir -p "$results"
if compgen -G 'build/bench/lib/libstreampool_heap.*' > /dev/null; then
    cases+=" heap"
else
    echo "heap left out: it is built where there is nvcc."
fi

# Each has a process of its own: after a case with many threads and streams the driver's events take longer, and what a case has
# left would hide what the next one adds.
for case in $cases; do
    measure "bench-$case" "$programs/streampool-bench" --wide "$case"
done
for case in $growing; do
    measure "bench-$case" "$programs/streampool-bench" --wide --divide "$divide" "$case"
done
# shellcheck disable=SC2086  # one word for each trace
{
    replay replay --perturb 5 --passes 2 $traces
    replay replay-threaded --perturb 5 --passes 2 $threaded
    replay replay-busy --perturb 5 --passes 2 --work 0.9 bench/traces/infer_streams.csv.gz $threaded
}
replay producer_consumer bench/traces/producer_consumer.csv.gz
replay producer_consumer-threads --threads bench/traces/producer_consumer.csv.gz

echo
echo "== plots"
drawn=()
for name in pair live threads growth mam; do
    if [ -s "$results/bench-$name.json" ]; then drawn+=("$results/bench-$name.json"); fi
done
for name in replay replay-threaded; do
    if [ -s "$results/$name.json" ]; then drawn+=("$results/$name.json"); fi
done
"$programs/streampool" plot --output "$results" "${drawn[@]}" || failed+=(plots)

echo
echo "The results are in $results."
if [ ${#failed[@]} -gt 0 ]; then
    echo "Failed: ${failed[*]}" >&2
    exit 1
fi
