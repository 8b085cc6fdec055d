#!/usr/bin/env bash
# run.sh BUILD CUDA [ROUNDS]: on a machine with a GPU, what a program pays under the drop-in of the build folder BUILD, beside CUDA's
# own pool: timing.c, built with CUDA's static runtime (of the toolkit in CUDA), runs in turn without and with it. For each
# measurement: the median of all runs, [least, most], and the ratio of the medians. Then start.c: a process that uses no pool.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) cuda=$2 rounds=${3:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset STREAMPOOL_DRIVER
gcc -O2 -D_GNU_SOURCE -I"$cuda/include" -o "$work/timing" "$here/timing.c" "$(echo "$cuda"/lib*/libcudart_static.a)" -ldl -lrt \
    -lpthread
gcc -O2 -D_GNU_SOURCE -o "$work/start" "$here/start.c" -ldl
dropin=$build/lib/libstreampool_dropin.so
processors=$(nproc)
for round in $(seq "$rounds"); do
    export TIMING_CPU=$((round % processors))
    "$work/timing" | sed "s/^/cuda\t/" >> "$work/all"
    LD_PRELOAD=$dropin "$work/timing" | sed "s/^/ours\t/" >> "$work/all"
done
python3 - "$work/all" <<'END'
import statistics
import sys

rows = {}
for line in open(sys.argv[1]):
    side, name, value = line.rstrip("\n").split("\t")
    rows.setdefault(name, {}).setdefault(side, []).append(float(value))
print("| ns | CUDA's pool | drop-in | ratio |\n| --- | --- | --- | --- |")
for name, sides in rows.items():
    cells, medians = [], []
    for side in ("cuda", "ours"):
        medians.append(statistics.median(sides[side]))
        cells.append(f"{medians[-1]:.0f} [{min(sides[side]):.0f}, {max(sides[side]):.0f}]")
    print(f"| {name} | {cells[0]} | {cells[1]} | {medians[1] / medians[0]:.3f} |")
END
"$work/start" "$dropin"
echo "without:"
"$work/start" look-ups
echo "with:"
LD_PRELOAD=$dropin "$work/start" look-ups
