#!/usr/bin/env bash
# Draws what bench/peers/run.sh measured of memory held, as one SVG: a group of bars for each trace, a bar for each allocator.
#
#   bash bench/peers/plot.sh PLOT.svg REPLAY.json...
#
# A bar is the most memory that was reserved, divided by the most that was in use, in the last pass, and the line on it reaches
# from the least start to the most. RMM's arena is left out: it takes a size of its own at its start. Needs gnuplot and jq.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/help.sh"
if [ $# -lt 2 ] || [[ $* = -* ]]; then
    echo "usage: bash bench/peers/plot.sh PLOT.svg REPLAY.json..." >&2
    exit 64
fi
plot=$1
shift

# A line for each trace: its name, and the median, least and most of each allocator. The first line names the allocators.
bars=$(mktemp)
trap 'rm -f "$bars"' EXIT
jq -rs '
    def distinct: reduce .[] as $one ([]; if index($one) then . else . + [$one] end);
    def names: {pool: "streampool", promised: "streampool, StreamPromises", driver: "CUDA'\''s pool"};
    add | map(select(.allocator != "RMM arena")) as $rows
    | ($rows | map(.pass) | max) as $last
    | ($rows | map(.allocator) | distinct) as $allocators
    | (["trace"] + [$allocators[] | names[.] // .] | map(@json) | join(" ")),
      (($rows | map(.trace) | distinct)[] as $trace
       | [$trace] + [$allocators[] as $allocator
                     | first($rows[] | select(.trace == $trace and .allocator == $allocator and .pass == $last))
                     | .ratio.median, .ratio.least, .ratio.most] | map(tostring) | join(" "))' "$@" > "$bars"
device=$(jq -r '.[0].device' "$1")
count=$(head -1 "$bars" | grep -o '"[^"]*"' | tail -n +2 | wc -l)

gnuplot <<EOG
set terminal svg size 900,420 noenhanced background "white"
set output "$plot"
set title "Memory held for each byte in use, five recorded PyTorch traces, $device"
set ylabel "reserved / live"
set style data histograms
set style histogram errorbars gap 2 linewidth 1
set style fill solid 0.9 noborder
set errorbars linecolor rgb "black"
set yrange [0:*]
set ytics 1
set grid ytics
set key outside below maxcols 4
names = '$(head -1 "$bars" | sed "s/'/''/g")'
colours = "#0050c0 #60a0f0 #d03020 #208040 #806000 #b08020 #707070 #8030a0"
name(i) = word(names, i + 1)
set arrow from graph 0, first 1 to graph 1, first 1 nohead linewidth 1.5 linecolor rgb "black"
plot for [i=1:$count] "$bars" every ::1 using (column(3 * i - 1)):(column(3 * i)):(column(3 * i + 1)):xticlabels(1) \
    title name(i) linecolor rgb word(colours, i)
EOG
