#!/usr/bin/env bash
# count.sh [PROGRAM LIBRARY]: prints what one call crosses inside the library, on the simulated driver, and fails when a figure
#                             is above its limit in limits.txt.
# count.sh --calls PATH:      prints the calls of one path as a tree, each with its file.
#
# PROGRAM is crossing.c, LIBRARY the one that it is linked with. Without them they are those of build/dev. The driver's own
# functions aren't counted. A row has the
#
#   calls      functions entered
#   functions  different ones among them: name and file
#   files      that these stand in
#   folders    how often a function stands in another folder than the one entered before it
#
# A call through a pointer is entered like any other. The figures don't depend on time, addresses, optimisation or the
# compiler. One that falls a tenth below its limit fails too: then the file is to be brought up to date, lest the gain be lost.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
checkout=$(cd "$here/../.." && pwd)
built=$checkout/build/dev
limits=$here/limits.txt

usage() {
    sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 2
}

tree_of='' program=$built/tests/crossing/crossing library=$built/lib/libstreampool_crossed.so
case $#:${1-} in
    0:) ;;
    2:--calls) tree_of=$2 ;;
    2:*) program=$1 library=$2 ;;
    *) usage ;;
esac
for file in "$program" "$library"; do
    test -e "$file" || { echo "$file is missing: build the project in build/dev" >&2; exit 2; }
done
export STREAMPOOL_DRIVER=${STREAMPOOL_DRIVER:-$built/lib/libstreampool_simcuda.so}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One line for each call: depth, function, and file below src/library/.
calls_of() {  # PATH
    local status=0
    "$program" "$1" > "$work/entered" || status=$?
    if [ "$status" != 0 ]; then cat "$work/entered" >&2; exit "$status"; fi
    cut -d' ' -f2 "$work/entered" | addr2line -f -e "$library" | paste -d' ' - - |
        sed 's| .*/src/library/| |; s|:[^:]*$||' > "$work/names"
    cut -d' ' -f1 "$work/entered" | paste -d' ' - "$work/names"
}

# addr2line prints ?? for what it doesn't know, and an absolute path for what isn't the library's.
require_known() {  # PATH CALLS
    if grep -E ' (\?\?|/)' "$2"; then
        echo "$1: these functions have no place in src/library/: is there debug information in $library?" >&2
        return 1
    fi
}

figures_of() {  # CALLS
    awk '{
        functions[$2 " " $3]; files[$3]
        folder = $3; sub(/\/.*/, "", folder)
        if (NR > 1 && folder != before) folders++
        before = folder
    }
    END { print NR, length(functions), length(files), folders + 0 }' "$1"
}

print_tree() {  # PATH
    calls_of "$1" > "$work/calls"
    require_known "$1" "$work/calls"
    awk '{ printf "%*s%s  %s\n", 2 * $1, "", $2, $3 }' "$work/calls"
}

# Prints nothing when each figure is between its limit and a tenth less.
compare() {  # PATH FIGURES LIMITS
    awk -v path="$1" -v figures="$2" -v limits="$3" 'BEGIN {
        split("calls functions files folders", names, " ")
        count = split(figures, figure, " ")
        if (split(limits, limit, " ") != count) { print path ": no limits, or not " count " of them"; exit }
        for (i = 1; i <= count; i++)
            if (figure[i] > limit[i]) printf "%s: %d %s, more than %d\n", path, figure[i], names[i], limit[i]
            else if (figure[i] * 10 < limit[i] * 9) printf "%s: %d %s, well below %d: lower the limit\n", path, figure[i], names[i], limit[i]
    }'
}

count_all() {
    local path figures
    printf '%-24s %6s %10s %6s %8s\n' path calls functions files folders
    for path in $("$program"); do
        calls_of "$path" > "$work/calls"
        require_known "$path" "$work/calls"
        figures=$(figures_of "$work/calls")
        # shellcheck disable=SC2086  # four figures
        printf '%-24s %6d %10d %6d %8d\n' "$path" $figures
        compare "$path" "$figures" "$(sed -n "s/^$path //p" "$limits")" >> "$work/complaints"
    done
}

if [ -n "$tree_of" ]; then
    print_tree "$tree_of"
    exit
fi
count_all
if [ -s "$work/complaints" ]; then
    cat "$work/complaints"
    exit 1
fi
