#!/usr/bin/env bash
# run.sh BUILD: on a machine with a GPU and nvcc, builds each program of programs/ with CUDA's own pools, with
# streampool/cuda_compat.h and by renaming, runs all, and compares what they print. BUILD is a build of this project with the shared
# library, which needs nothing else: cmake -B BUILD -DSTREAMPOOL_TESTS=OFF -DSTREAMPOOL_CLI=OFF && cmake --build BUILD.
#
# NVIDIA's samples of stream-ordered allocation are tried too where STREAMPOOL_SAMPLES names a copy of their repository: with the
# header they must end as they do without; the one that shares memory with other processes must be refused.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nvcc=${NVCC:-nvcc}
skipped=77

library=$(find "$build" -name libstreampool.so -printf '%h\n' | head -n 1)
test -n "$library" || { echo "there is no libstreampool.so in $build"; exit 2; }
command -v "$nvcc" > /dev/null || { echo "there is no nvcc here: set NVCC"; exit 2; }

work=$build/porting
rm -rf "$work"
mkdir -p "$work"
unset STREAMPOOL_DRIVER
failed=0 ran=0

fail() {
    echo "FAILED: $*"
    failed=1
}

# ------------------------------------------------------------------------------------------- build

link=(-I"$here/../../include" -L"$library" -lstreampool -Xlinker -rpath -Xlinker "$library")

build_one() {  # WAY OUT SOURCE OPTION...
    local way=$1 out=$2 source=$3
    shift 3
    case $way in
        plain) "$nvcc" "$@" "$source" -o "$out" ;;
        header) "$nvcc" -include streampool/cuda_compat.h "$@" "$source" -o "$out" "${link[@]}" ;;
        renamed) "$nvcc" "$@" "$work/source/${source##*/}" -o "$out" "${link[@]}" ;;
    esac > "$out.log" 2>&1 || { cat "$out.log"; rm -f "$out"; }
}

options_of() {  # PROGRAM
    if [ "$1" = threads.cu ]; then echo --default-stream per-thread; fi
}

# PROGRAM WAY...: the runtime's last error knows nothing of renamed calls, renaming leaves functions that are used as values,
# and only the header refuses.
ways() {
    cat << 'END'
loop.c plain header renamed
pool.c plain header renamed
reuse.c plain header renamed
streams.cu plain header renamed
threads.cu plain header renamed
errors.c plain header
launch.cu plain header
overloads.cu plain header
constant.cu plain header renamed
thrust.cu plain header
places.c plain header renamed
refused.c header
END
}

build_all() {
    local program list way options
    bash "$here/rename.sh" "$work/source" "$here"/programs/*
    while read -r program list; do
        read -ra options <<< "$(options_of "$program")"
        for way in $list; do
            build_one "$way" "$work/${program%.*}.$way" "$here/programs/$program" "${options[@]}" &
        done
        wait
    done < <(ways)
}

# --------------------------------------------------------------------------------------------- run

run_one() {  # PROGRAM, which leaves its output in PROGRAM.out
    local status=0
    "$1" > "$1.out" 2>&1 || status=$?
    ran=$((ran + 1))
    return "$status"
}

check_one() {  # NAME WAY REFERENCE
    local program=$work/$1.$2 status=0
    if [ ! -x "$program" ]; then
        fail "$1, $2: doesn't build"
        return
    fi
    run_one "$program" || status=$?
    if [ "$status" = "$skipped" ]; then
        cat "$program.out"
    elif [ "$status" != 0 ]; then
        cat "$program.out"
        fail "$1, $2: ended with status $status"
    elif [ -e "$3" ] && ! diff -u "$3" "$program.out"; then
        fail "$1, $2: prints something else"
    else
        echo "$1, $2: as expected"
    fi
}

# What is expected stands in a file, or is what the program prints with CUDA's own pools.
check_all() {
    local program list way name expected
    while read -r program list; do
        name=${program%.*}
        expected=$here/expected/$name.txt
        if [ ! -e "$expected" ]; then expected=$work/$name.plain.out; fi
        for way in $list; do
            check_one "$name" "$way" "$expected"
        done
    done < <(ways)
}

# ----------------------------------------------------------------------------------------- samples

find_sample() {
    find "$STREAMPOOL_SAMPLES" -name "$1" -print -quit
}

try_sample() {  # NAME [SOURCE...]
    local name=$1 source common plain header
    shift
    source=$(find_sample "$name.cu")
    common=$(dirname "$(find_sample helper_cuda.h)")
    if [ -z "$source" ]; then
        fail "$name.cu is not in $STREAMPOOL_SAMPLES"
        return
    fi
    build_one plain "$work/$name.plain" "$source" -I"$common" "$@" -lcuda
    build_one header "$work/$name.header" "$source" -I"$common" "$@" -lcuda
    if [ ! -x "$work/$name.plain" ] || [ ! -x "$work/$name.header" ]; then
        fail "$name: doesn't build"
        return
    fi
    cd "$work" # where a sample starts itself again
    plain=0 header=0
    run_one "$work/$name.plain" || plain=$?
    run_one "$work/$name.header" || header=$?
    sed "s/^/    /" "$work/$name.header.out"
    echo "$name: status $plain with CUDA's pools, $header with the header"
    if [ "$name" = streamOrderedAllocationIPC ]; then
        if [ "$header" = 0 ] || [ "$header" -gt 127 ]; then fail "$name: isn't refused"; fi
    elif [ "$plain" != "$header" ]; then
        fail "$name: ends otherwise"
    fi
}

try_samples() {
    if [ -z "${STREAMPOOL_SAMPLES:-}" ]; then
        echo "NVIDIA's samples are skipped: STREAMPOOL_SAMPLES names no folder"
        return
    fi
    try_sample streamOrderedAllocation
    try_sample streamOrderedAllocationP2P
    try_sample streamOrderedAllocationIPC "$(find_sample helper_multiprocess.cpp)"
}

build_all
check_all
try_samples
echo "$ran programs ran"
exit "$failed"
