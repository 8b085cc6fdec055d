#!/usr/bin/env bash
# kernel.sh CHECKOUT NVCC: nvcc compiles the example with a kernel, with no warning. Without nvcc it is skipped. It needs no GPU.
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
"$nvcc" -Werror all-warnings -I../../include -c kernel.cu -o "$work/kernel.o"
