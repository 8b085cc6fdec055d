#!/usr/bin/env bash
# record.sh BUILD FOLDER [NAME...]: records the traces of the programs beside it anew, on a machine with a GPU.
#
# BUILD has the program streampool and the drop-in (bin/ and lib/). The traces, or those that are named, are written to
# FOLDER, and a line for each says what is in it. Needs a C compiler and the CUDA toolkit (in CUDA_HOME, or in
# /usr/local/cuda), and a python3 with PyTorch and CuPy. A trace whose program fails is left out, and named.
#
# A Python program runs once before it is recorded, so that kernels that are compiled at their first use don't stop it.
# A program that hangs is ended. SIZE, if set, is the first argument of each: how many requests or frames, or the scale.
set -u -o pipefail
if [ $# -lt 2 ]; then
    echo "Usage: record.sh BUILD FOLDER [NAME...]" >&2
    exit 64
fi
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
folder=$(realpath -m "$2")
shift 2
[ $# -gt 0 ] || set -- torch_threads cupy_streams video_pipeline
cuda=${CUDA_HOME:-/usr/local/cuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"
failed=()

summarize() {  # TRACE
    gzip -dc "$1" | awk -F, '
        NR > 1 { lines++; threads[$1] }
        $3 == "allocate" { operations++; streams[$6]; made[$4] = $6; live += $5 }
        $3 == "allocate" && live > peak { peak = live }
        $3 ~ /^free/ { operations++; live -= $5; elsewhere += made[$4] != $6 }
        END {
            printf "%d allocations and frees, %d lines, %d threads, %d streams that allocate, ",
                operations, lines, length(threads), length(streams)
            printf "%d frees on another stream, %.2f GiB live at most, %.2f at the end\n",
                elsewhere, peak / 2 ^ 30, live / 2 ^ 30
        }'
}

run() {  # NAME COMMAND...
    local name=$1
    shift
    timeout 90 "$build/bin/streampool" run --output "$work/summary" --record "$work/$name.csv.gz" -- "$@" ||
        { cat "$work/summary"; return 1; }
    gzip -dc "$work/$name.csv.gz" | gzip -9n > "$folder/$name.csv.gz" || return 1
    summarize "$folder/$name.csv.gz"
}

build_program() {  # NAME
    # shellcheck disable=SC2086  # a compiler may have words behind its name
    ${CC:-cc} -O2 "$here/$1.c" -I"$cuda/include" -L"$cuda/lib64/stubs" -o "$work/$1" -lcuda -lpthread
}

record() {  # NAME
    local size=()
    if [ -n "${SIZE:-}" ]; then size=("$SIZE"); fi
    if [ -e "$here/$1.c" ]; then
        build_program "$1" && run "$1" "$work/$1" "${size[@]}"
    else
        timeout 90 python3 "$here/$1.py" "${size[@]}" && run "$1" python3 "$here/$1.py" "${size[@]}"
    fi
}

for name; do
    echo "== $name"
    record "$name" || failed+=("$name")
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "Failed: ${failed[*]}" >&2
    exit 1
fi
