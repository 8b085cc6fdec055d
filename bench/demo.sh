#!/usr/bin/env bash
# Replays five recorded PyTorch traces and one of producers and consumers through the pool, CUDA's own pool and plain
# cuMemAlloc, and prints the table:
#
#   bash bench/demo.sh [--no-install] [OPTION...]
#
# On the GPU if there is one, else on the simulated driver, whose times are those of the simulation. Packages that are
# missing are installed with apt-get, by sudo where that is necessary; with --no-install they are only named. Other
# options go to `streampool replay` (docs/replay.md).
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/build.sh

build=build/demo
install=yes
options=()
for argument; do
    case $argument in
        --no-install) install=no ;;
        *) options+=("$argument") ;;
    esac
done

build_release "$build" "$install"
exec "$build/bin/streampool" replay --device auto --allocator pool,driver,direct "${options[@]}" bench/traces/*.csv.gz
