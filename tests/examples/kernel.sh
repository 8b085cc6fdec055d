#!/usr/bin/env bash
# kernel.sh CHECKOUT NVCC: nvcc compiles the examples with kernels, and the test of the device heap on a GPU, with no warning.
# Without nvcc it is skipped. It needs no GPU.
set -euo pipefail
nvcc=$2
cd "$1/docs/examples"
skipped=77

if ! command -v "$nvcc" > /dev/null; then
    echo "skipped: there is no nvcc here"
    exit "$skipped"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in kernel.cu heap.cu ../../tests/heap_gpu/heap_gpu.cu; do
    "$nvcc" -Werror all-warnings -I../../include -c "$source" -o "$work/object.o"
done
