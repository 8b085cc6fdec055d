#!/usr/bin/env bash
# build.sh CHECKOUT BUILD NVCC TO: builds the test on a GPU, TO/heap_gpu, and docs/examples/heap.cu, which it runs, with BUILD's
# libraries beside them, which they find there. They are for the oldest device that NVCC knows, and as PTX for newer ones; NVCC_FLAGS
# may name others (-arch=sm_90).
set -euo pipefail
checkout=$1 build=$2 nvcc=$3 to=$4
mkdir -p "$to"
make() {  # PROGRAM SOURCE...
    local program=$1
    shift
    "$nvcc" -O3 -std=c++14 ${NVCC_FLAGS-} -Werror all-warnings "-I$checkout/include" "$@" -o "$to/$program" \
        -L"$build/lib" -lstreampool_heap -lstreampool -Xlinker -rpath,'$ORIGIN'
}
make heap_gpu "$checkout"/tests/heap_gpu/{heap_gpu,checked}.cu
make heap_example "$checkout/docs/examples/heap.cu"
cp -L "$build"/lib/libstreampool.so.*.* "$build"/lib/libstreampool_heap.so.*.* "$to/"
