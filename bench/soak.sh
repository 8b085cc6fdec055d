#!/usr/bin/env bash
# Replays the traces as often as a server would see its load in weeks, and makes tables of what the pool then holds:
#
#   bash bench/soak.sh [OPTION...] [FOLDER [TRACE...]]
#
#   --no-install      doesn't install packages that are missing, and names them
#   --program FILE    the program `streampool`; without it a release is built in build/bench
#   --device NAME     sim (default), gpu or auto, as for `streampool replay`
#   --allocator LIST  pool,promised unless given
#   --passes N        50 unless given
#   --starts N        5 unless given
#   --modes LIST      of those below; all unless given
#   --jobs N          replays at a time; one for each core unless given, and one on a GPU
#
# A load is what a pool serves in each pass: a trace alone, all traces in turn, or those with several streams in turn. The traces
# are those of bench/traces unless some are named. The results are written as JSON into the folder (build/bench-soak), one file for
# each mode and load, and the tables as Markdown into soak.md there. Fails where a replay can't be made.
# docs/benchmarks/measuring.md says what the tables have, and tests/creep.sh judges the results.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../tests/help.sh"
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")

# Name, how the table calls it, and options. HALF is half of the most that the load has live at once.
modes='
kept|nothing|
trimmed|all that is free, between passes|--trim 0
threshold-half|what is free above half of the live peak, every 1,000 operations|--threshold HALF --synchronize 1000
threshold-0|all that is free, every 1,000 operations|--threshold 0 --synchronize 1000
'

usage() {
    echo "usage: bash bench/soak.sh [OPTION...] [FOLDER [TRACE...]]; the options stand at its beginning" >&2
    exit 64
}

of_mode() {  # NAME COLUMN
    awk -F '|' -v name="$1" -v column="$2" '$1 == name { print $column }' <<< "$modes"
}

name_of() {  # TRACE, as the program calls it
    local name=${1##*/}
    name=${name%.gz}
    echo "${name%.csv}"
}

install=yes program='' device=sim allocators=pool,promised passes=50 starts=5 jobs=
wanted=$(awk -F '|' '$1 { print $1 }' <<< "$modes" | paste -sd ,)
while [ $# -gt 0 ]; do
    case $1 in
        --no-install) install=no; shift; continue ;;
        --program) program=$(realpath "${2-}") ;;
        --device) device=${2-} ;;
        --allocator) allocators=${2-} ;;
        --passes) passes=${2-} ;;
        --starts) starts=${2-} ;;
        --modes) wanted=${2-} ;;
        --jobs) jobs=${2-} ;;
        -*) usage ;;
        *) break ;;
    esac
    shift 2 || usage
done
for mode in ${wanted//,/ }; do
    [ -n "$(of_mode "$mode" 1)" ] || { echo "bench/soak.sh: there is no mode '$mode'" >&2; exit 64; }
done
results=$(realpath -m "${1:-$root/build/bench-soak}")
traces=("$root"/bench/traces/*.csv.gz)
if [ $# -gt 1 ]; then
    shift
    mapfile -t traces < <(realpath "$@")
fi

twice=$(for trace in "${traces[@]}"; do name_of "$trace"; done | sort | uniq -d)
if [ -n "$twice" ]; then echo "bench/soak.sh: two traces have the name $twice" >&2; exit 64; fi

cd "$root"
. bench/build.sh
provide "$table_needs" "$install"
if [ -z "$program" ]; then
    build_release build/bench "$install" -DSTREAMPOOL_BENCH=ON
    program=build/bench/bin/streampool
fi
if [ "$device" = sim ]; then default_jobs=$(nproc); else default_jobs=1; fi
jobs=${jobs:-$default_jobs}
mkdir -p "$results"
for mode in ${wanted//,/ }; do rm -f "$results/$mode".*.json "$results/$mode".*.log; done
rm -f "$results/failed" "$results/soak.md"

# Of each trace: the bytes that are live at most, its streams, and the allocators that can replay it.
declare -A live streams able
any=
for trace in "${traces[@]}"; do
    read -r "live[$trace]" "streams[$trace]" < <("$program" replay --device sim --allocator direct --json - "$trace" |
        jq -r '.[0] | "\(.live_peak_bytes) \(.streams)"')
    able[$trace]=$("$program" replay --device "$device" --allocator "$allocators" --json - "$trace" |
        jq -r 'map(.allocator) | unique | join(" ")') || true
    any+=${able[$trace]}
done
if [ -z "$any" ]; then echo "bench/soak.sh: no trace can be replayed" >&2; exit 1; fi

# The status of a replay in which calls failed. The results count them.
calls_failed=4

replay() {  # NAME OPTION... TRACE...
    local name=$1
    shift
    "$program" replay --device "$device" --passes "$passes" --perturb "$starts" --json "$results/$name.json" "$@" \
        > "$results/$name.log" 2>&1 || [ $? = "$calls_failed" ] || echo "$name" >> "$results/failed"
}

# Begins a replay in every mode, as soon as fewer than --jobs are under way.
soak() {  # LOAD OPTION... TRACE...
    local load=$1 mode peak=0 options trace
    shift
    for trace; do
        if [ "${live[$trace]-0}" -gt "$peak" ]; then peak=${live[$trace]}; fi
    done
    for mode in ${wanted//,/ }; do
        options=$(of_mode "$mode" 3)
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
        # shellcheck disable=SC2086  # one word for each option
        replay "$mode.$load" ${options/HALF/$((peak / 2))} "$@" &
    done
}

# An allocator that can't replay some of the traces replays the others in turn, which is another load.
soak_in_turn() {  # LOAD TRACE...
    local load=$1 allocator trace name
    shift
    for allocator in ${allocators//,/ }; do
        local suited=() left_out=""
        for trace; do
            if [[ " ${able[$trace]} " == *" $allocator "* ]]; then
                suited+=("$trace")
            else
                left_out+=" $(name_of "$trace")"
            fi
        done
        if [ ${#suited[@]} -gt 1 ]; then
            soak "$load${left_out:+ without$left_out}, $allocator" --one-pool --allocator "$allocator" "${suited[@]}"
        fi
    done
}

several=()
for trace in "${traces[@]}"; do
    if [ "${streams[$trace]}" -gt 1 ]; then several+=("$trace"); fi
done
soak_in_turn "all in turn" "${traces[@]}"
if [ ${#several[@]} -lt ${#traces[@]} ]; then soak_in_turn "many streams in turn" "${several[@]}"; fi
for trace in "${traces[@]}"; do
    if [ -n "${able[$trace]}" ]; then soak "$(name_of "$trace")" --allocator "$allocators" "$trace"; fi
done
wait

if [ -e "$results/failed" ]; then
    while read -r name; do
        echo "FAILED: $name" >&2
        cat "$results/$name.log" >&2
    done < "$results/failed"
    exit 1
fi

of_modes=$(for mode in ${wanted//,/ }; do
    for file in "$results/$mode".*.json; do
        load=$(basename "$file" .json)
        load=${load#*.}
        jq --arg load "${load%%, *}" -L bench 'include "soak"; runs($load)' "$file"
    done | jq -s --arg given "$(of_mode "$mode" 2)" '{given: $given, runs: (add | sort_by(.[0].turns))}'
done)
jq -rs -L bench 'include "soak"; tables' <<< "$of_modes" > "$results/soak.md"
cat "$results/soak.md"
errors=$(jq -rs -L bench 'include "soak"; errors' <<< "$of_modes")
if [ -n "$errors" ]; then
    echo "$errors" >&2
    exit 1
fi
