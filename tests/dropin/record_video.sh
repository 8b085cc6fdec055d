#!/usr/bin/env bash
# record_video.sh CHECKOUT BUILD DRIVER COMPILER: bench/traces/programs/record.sh records the program that needs no GPU, on the
# driver DRIVER, with this project's cuda.h in the place of the toolkit's. The trace has what its README says of it: threads,
# streams, blocks that change streams, an order for these, and nothing alive at the end. And it can be replayed.
set -eu -o pipefail
checkout=$1 build=$2 driver=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/cuda/include" "$folder/cuda/lib64/stubs"
ln -s "$checkout/tests/dropin/cuda.h" "$checkout/src/library/driver" "$folder/cuda/include/"
ln -s "$driver" "$folder/cuda/lib64/stubs/libcuda.so"

fail() {
    echo "$1" >&2
    cat "$folder/said" >&2
    exit 1
}

CC=$4 CUDA_HOME=$folder/cuda SIZE=24 LD_LIBRARY_PATH=${driver%/*} \
    bash "$checkout/bench/traces/programs/record.sh" "$build" "$folder" video_pipeline > "$folder/said" 2>&1 ||
    fail "nothing was recorded"
grep -q '^584 allocations and frees, ' "$folder/said" || fail "the program doesn't allocate as often as before"
grep -q ', [1-9][0-9]* frees on another stream, ' "$folder/said" || fail "no frame is freed by another thread"

replayed=$("$build/bin/streampool" replay --device sim --threads --json - "$folder/video_pipeline.csv.gz") ||
    fail "the trace can't be replayed"
grep -q '"errors":[[:space:]]*0,' <<< "$replayed" || fail "the replay has errors"
# after[B, A] is the last line of stream A that stream B is ordered behind.
gzip -dc "$folder/video_pipeline.csv.gz" | awk -F, '
    function know(key, line) { if (line > after[key]) after[key] = line }
    $3 ~ /stream$/ { known[$6] }
    $3 == "allocate" { made[$4] = $6; at[$4] = NR; live++ }
    $3 == "record" { for (a in known) after[$4, a] = after[$6, a]; after[$4, $6] = NR }
    $3 == "wait" { for (a in known) know($6 SUBSEP a, after[$4, a]) }
    $3 == "free" { live-- }
    $3 == "free" && made[$4] != $6 && after[$6, made[$4]] < at[$4] { print "line " NR ": freed in no order"; bad = 1 }
    END { print live + 0 " blocks are left"; exit bad || live }
' >> "$folder/said" || fail "a block changes streams in no order, or is left"
