#!/usr/bin/env bash
# build.sh CHECKOUT BUILD NVCC TO: builds the test on a GPU, TO/heap_gpu, with BUILD's libraries beside it, which it finds there.
# It is for the oldest device that NVCC knows, and as PTX for newer ones; NVCC_FLAGS may name others (-arch=sm_90).
set -euo pipefail
checkout=$1 build=$2 nvcc=$3 to=$4
mkdir -p "$to"
"$nvcc" -O3 -std=c++14 ${NVCC_FLAGS-} -Werror all-warnings "-I$checkout/include" "$checkout/tests/heap_gpu/heap_gpu.cu" \
    -o "$to/heap_gpu" -L"$build/lib" -lstreampool_heap -lstreampool -Xlinker -rpath,'$ORIGIN'
cp -L "$build"/lib/libstreampool.so.*.* "$build"/lib/libstreampool_heap.so.*.* "$to/"
