#!/usr/bin/env bash
# runtime.sh SIMCUDA CUDA CC: a program of CUDA's own runtime, linked with the shared and with the static one of the toolkit in the
# folder CUDA, runs on the simulated driver, or ends with an error of the runtime after one line that names what it lacks.
set -euo pipefail
simcuda=$1 cuda=$2 cc=$3
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/runtime.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/driver"
ln -s "$simcuda" "$work/driver/libcuda.so.1"
line="^simulated driver: the CUDA runtime asks for the driver's private table [0-9a-f-]{36}, which is not documented: this program can't run here\$"

try() {  # NAME LIBRARY...: the program linked with that runtime
    local name=$1 status=0
    shift
    $cc -isystem "$cuda/include" "$source" -o "$work/$name" -L"$cuda/lib64" "$@"
    LD_LIBRARY_PATH="$work/driver:$cuda/lib64" "$work/$name" > "$work/out" 2> "$work/err" || status=$?
    if [ "$status" -eq 0 ] && [ ! -s "$work/err" ]; then return 0; fi
    if [ "$status" -eq 1 ] && [ "$(wc -l < "$work/err")" -eq 1 ] && grep -qE "$line" "$work/err" &&
       grep -q '^cudaMalloc(.*): cudaError' "$work/out"; then return 0; fi
    echo "$name: status $status"
    cat "$work/out" "$work/err"
    return 1
}

try shared -lcudart
try static -lcudart_static -ldl -lpthread -lrt
