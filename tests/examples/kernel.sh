#!/usr/bin/env bash
# kernel.sh CHECKOUT NVCC [LIBRARY...]: nvcc compiles the examples with kernels, and the test of the device heap on a GPU, with no
# warning, what uses the heap with POOL_HEAP_CHECK too. With the libraries of the heap it links the example of the heap with them.
# Without nvcc it is skipped. It needs no GPU.
set -euo pipefail
nvcc=$2
cd "$1/docs/examples"
shift 2
skipped=77

if ! command -v "$nvcc" > /dev/null; then
    echo "skipped: there is no nvcc here"
    exit "$skipped"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {  # SOURCE [OPTION...]
    "$nvcc" -Werror all-warnings -I../../include -c "$@" -o "$work/object.o"
}
compile kernel.cu
compile heap.cu -DPOOL_HEAP_CHECK
compile ../../tests/heap_gpu/heap_gpu.cu
compile ../../tests/heap_gpu/checked.cu
compile heap.cu
if [ $# -gt 0 ]; then "$nvcc" "$work/object.o" "$@" -o "$work/heap"; fi
