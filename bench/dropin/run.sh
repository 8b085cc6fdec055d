#!/usr/bin/env bash
# run.sh BUILD CUDA [ROUNDS]: on a machine with a GPU, what a program pays under the drop-in of the build folder BUILD, beside CUDA's
# own pool: timing.c, built with CUDA's static runtime (of the toolkit in CUDA), runs in turn without and with it. For each
# measurement: the median of all runs, [least, most]; and the same of the ratios and differences of runs that follow each other on one
# processor. nothing.c shows what the runtime alone takes. Then start.c: a process that uses no pool.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) cuda=$2 rounds=${3:-5}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset STREAMPOOL_DRIVER
gcc -O2 -D_GNU_SOURCE -I"$cuda/include" -o "$work/timing" "$here/timing.c" "$(echo "$cuda"/lib*/libcudart_static.a)" -ldl -lrt \
    -lpthread
gcc -O2 -D_GNU_SOURCE -o "$work/start" "$here/start.c" -ldl
gcc -O2 -D_GNU_SOURCE -shared -fPIC -o "$work/nothing.so" "$here/nothing.c" -ldl
dropin=$build/lib/libstreampool_dropin.so
processors=$(nproc)
for round in $(seq "$rounds"); do
    export TIMING_CPU=$((round % processors))
    "$work/timing" | sed "s/^/cuda\t/" >> "$work/all"
    LD_PRELOAD=$dropin "$work/timing" | sed "s/^/ours\t/" >> "$work/all"
    LD_PRELOAD=$work/nothing.so "$work/timing" | sed "s/^/nothing\t/" >> "$work/all"
done
python3 - "$work/all" <<'END'
import statistics
import sys

rows = {}
for line in open(sys.argv[1]):
    side, name, value = line.rstrip("\n").split("\t")
    rows.setdefault(name, {}).setdefault(side, []).append(float(value))


def told(values):
    digits = 1 if statistics.median(values) < 20 else 0
    return f"{statistics.median(values):.{digits}f} [{min(values):.{digits}f}, {max(values):.{digits}f}]"


print("| ns | CUDA's pool | drop-in | a pool that does nothing | CUDA's / drop-in | drop-in - CUDA's |")
print("| --- | --- | --- | --- | --- | --- |")
for name, sides in rows.items():
    turns = list(zip(sides["cuda"], sides["ours"]))
    times = [cuda / ours for cuda, ours in turns]
    more = [ours - cuda for cuda, ours in turns]
    floor = told(sides["nothing"]) if name.startswith("pair") else ""
    print(f"| {name} | {told(sides['cuda'])} | {told(sides['ours'])} | {floor} | {told(times)} | {told(more)} |")
END
"$work/start" "$dropin"
echo "without:"
"$work/start" look-ups
echo "with:"
LD_PRELOAD=$dropin "$work/start" look-ups
