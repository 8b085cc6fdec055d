#!/usr/bin/env bash
# nvcc.sh NVCC: nvcc compiles the programs with kernels with streampool/cuda_compat.h and by renaming, with no warning. Without nvcc
# it is skipped. It needs no GPU.
set -eu
nvcc=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
skipped=77

if ! command -v "$nvcc" > /dev/null; then
    echo "skipped: there is no nvcc here"
    exit "$skipped"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

compile() {  # WHAT SOURCE OPTION...
    local what=$1 source=$2
    shift 2
    if "$nvcc" -Werror all-warnings -I"$here/../../include" -c "$source" -o "$work/object.o" "$@" > "$work/log" 2>&1; then return 0; fi
    cat "$work/log"
    echo "$what doesn't compile"
    failed=1
}

with_header() {  # SOURCE OPTION...
    local source=$1
    shift
    compile "$source with streampool/cuda_compat.h" "$here/programs/$source" -include streampool/cuda_compat.h "$@"
}

bash "$here/rename.sh" "$work/renamed" "$here"/programs/*.cu "$here/programs/check.h"
for source in streams.cu launch.cu thrust.cu constant.cu errors.c; do
    with_header "$source"
done
with_header overloads.cu -std=c++20
with_header threads.cu --default-stream per-thread
compile "streams.cu, renamed," "$work/renamed/streams.cu"
compile "constant.cu, renamed," "$work/renamed/constant.cu"
compile "overloads.cu, renamed," "$work/renamed/overloads.cu" -std=c++20
compile "threads.cu, renamed," "$work/renamed/threads.cu" --default-stream per-thread
exit "$failed"
