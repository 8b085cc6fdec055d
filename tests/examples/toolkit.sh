#!/usr/bin/env bash
# toolkit.sh CHECKOUT CUDA_INCLUDE CC CXX: the examples compile with CUDA's own cuda.h, with no warning, as on the machine of a reader,
# and need no extensions of the compiler.
set -euo pipefail
checkout=$1 cuda_include=$2 cc=$3 cxx=$4
cd "$checkout/docs/examples"

options=(-Wall -Wextra -Werror -fsyntax-only -I../../include -isystem "$cuda_include")
for source in *.c; do
    header=()
    if [ "$source" = cuda_compat.c ]; then header=(-include streampool/cuda_compat.h); fi
    $cc -std=c11 "${options[@]}" "${header[@]}" "$source"
done
$cxx -std=c++17 "${options[@]}" basic.cpp
$cxx -std=c++17 "${options[@]}" host_vector.cpp
