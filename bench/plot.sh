#!/usr/bin/env bash
# Draws the results of streampool-bench, as one SVG for each plot, into a folder (that of the results unless another one is
# named):
#
#   bash bench/plot.sh RESULTS.json [FOLDER]
#
# Points are medians, bars reach from the lower to the upper quartile, and both axes are logarithmic. Each subject that was
# measured has a line. Needs gnuplot and jq; what can't be drawn is named, and that is no failure.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tests/help.sh"
if [ $# -lt 1 ] || [ $# -gt 2 ] || [[ $* = -* ]]; then
    echo "usage: bash bench/plot.sh RESULTS.json [FOLDER]" >&2
    exit 64
fi
results=$(realpath "$1")
folder=$(realpath -m "${2:-$(dirname "$results")}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/build.sh

# Name, case, which of its settings, what x is, what y is.
plots='
pair|pair|.|bytes|ns for a malloc and a free
live|live|, pair$|live blocks|ns for a free and a malloc
threads|threads|^4 KiB, [0-9]+ threads?$|threads|1,000 pairs/s, all threads together
threads-written|threads|^4 KiB, .*, written$|threads|1,000 pairs/s, all threads together
growth|growth|, grow$|bytes|us for the first allocation of a new pool
trim|growth|, trim$|bytes|us for the synchronise that trims
'

colours='#0050c0 #d03020 #208040 #806000 #707070 #8030a0 #00909a #000000'

# For each subject, in the order of the results, its name and then x, median, quartiles and a label of each setting.
points() {  # CASE SETTINGS
    jq -r --arg case "$1" --arg settings "$2" '
        [.[] | select(.case == $case and .at and (.setting | test($settings)))] as $rows
        | reduce $rows[].subject as $name ([]; if index($name) then . else . + [$name] end)
        | .[] as $name
        | ($name | @json),
          ($rows[] | select(.subject == $name) | "\(.at) \(.median) \(.first_quartile) \(.third_quartile) \(.setting | split(",")[0] | @json)"),
          "", ""' "$results"
}

device() {
    jq -r '.[0] | .device + (if .simulated then ", simulated driver: times of the host" else "" end)' "$results"
}

draw() {  # NAME X Y: of the points in the file $points
    local axis='set logscale x 10; set format x "%.0s%c"' columns=1:2:3:4
    case $2 in
        bytes) axis='set logscale x 2' columns="$columns:xticlabels(5)" ;;
        threads) axis='set logscale x 2' ;;
    esac
    gnuplot <<EOG
set terminal svg size 800,500 noenhanced background "white"
set output "$folder/$1.svg"
set title "$1, $(device)"
set xlabel "$2"
set ylabel "$3"
set logscale y 10
$axis
set grid
set key outside below
set rmargin 6
set offsets graph 0.02, graph 0.02, 0, 0
do for [i=1:8] { set linetype i linewidth 1.5 linecolor rgb word("$colours", i) }
plot for [i=0:$(grep -c '^"' "$points")-1] "$points" index i using $columns with yerrorlines pointtype 7 pointsize 0.5 \
    title columnheader(1)
EOG
}

names=$(cut -d '|' -f 1 <<< "$plots" | tr -s '\n' ' ')
missing=$(missing_packages "$plot_needs" | tr '\n' ' ')
if [ -n "$missing" ]; then
    echo "Plots left out:${names% }. Missing on this machine, as Debian packages: ${missing% }"
    exit 0
fi

mkdir -p "$folder"
points=$(mktemp)
trap 'rm -f "$points"' EXIT
while IFS='|' read -r name case settings x y; do
    if [ -z "$name" ]; then continue; fi
    points "$case" "$settings" > "$points"
    if [ -s "$points" ]; then
        draw "$name" "$x" "$y"
        echo "Plot: $folder/$name.svg"
    else
        echo "Plot left out: $name. The case $case is not among these results."
    fi
done <<< "$plots"
