#!/usr/bin/env bash
# Replays the recorded traces of bench/traces/ through streampool, CUDA's pool
# and cuMemAlloc, and prints what each of them held:
#
#   bash bench/demo.sh [--no-install] [--plot [FILE]] [OPTION...]
#
#   --no-install   only names the packages that are missing; else apt-get
#                  installs them, by sudo where that is necessary
#   --plot [FILE]  draws the memory over each trace too, into demo.svg of the
#                  folder that the demo is started in, or into FILE
#   OPTION         of `streampool replay` (docs/replay.md)
#
# It runs on the GPU if there is one. Else it runs on the simulated driver, and
# compares memory with what CUDA's pool held on an H200, which was recorded
# there (bench/recorded/h200.json). Times on this machine are not compared with
# those: driver calls count as long as they take on an H200, and the library's
# own time is measured here. Files are those of the folder that the demo is
# started in.
set -eu
. "$(dirname "${BASH_SOURCE[0]}")/../tests/help.sh"
started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. bench/build.sh

build=build/demo
program=$PWD/$build/bin/streampool
recorded=$PWD/bench/recorded/h200.json
traces=$PWD/bench/traces
install=yes
device=auto
plot=
options=()

refuse() {  # REASON
    echo "usage: bash bench/demo.sh [--no-install] [--plot [FILE]] [OPTION...]" >&2
    echo "$1" >&2
    exit 64
}

# The program isn't there yet to refuse an option; its page names those that it has. A name may be cut short.
check_option() {  # ARGUMENT
    local name=${1%%=*}
    if [[ $name != --* ]] || grep -qF -- "${name//-/\\-}" docs/man/streampool-replay.1; then return 0; fi
    refuse "streampool replay has no option $name (docs/replay.md)."
}

while [ $# -gt 0 ]; do
    case $1 in
        --no-install) install=no ;;
        --plot=*) plot=${1#*=} ;;
        --plot)
            plot=demo.svg
            if [ $# -gt 1 ] && [[ $2 != -?* ]]; then plot=$2; shift; fi
            ;;
        --device | -d)
            [ $# -gt 1 ] || refuse "$1 needs a device: auto, gpu or sim."
            device=$2
            shift
            ;;
        --device=*) device=${1#*=} ;;
        -d?*) device=${1#-d} ;;
        *) check_option "$1"; options+=("$1") ;;
    esac
    shift
done

is_simulated() {
    "$program" info --device "$device" --json - 2> /dev/null | grep -q '"simulated":[[:space:]]*true'
}

build_release "$build" "$install"
allocators=pool,driver,direct
date=
if is_simulated; then
    # It has no pools of CUDA: those that were recorded stand in their place.
    allocators=pool,direct
    if [ -e "$recorded" ]; then
        options=(--beside "$recorded" "${options[@]}")
        date=$(sed -n '0,/"date"/s/.*"date":[[:space:]]*"\([^"]*\)".*/\1/p' "$recorded")
    fi
    if [ "$device" = auto ] && [ -z "${STREAMPOOL_DRIVER:-}" ]; then
        echo "There is no usable GPU: the simulated driver takes its place." >&2
        device=sim
    fi
fi
if [ -n "$plot" ]; then options+=(--plot "$plot"); fi
cd "$started_in"
status=0
"$program" replay --device "$device" --allocator "$allocators" "${options[@]}" "$traces"/*.csv.gz || status=$?
case $status in
    0 | 4) ;; # 4: calls failed, and everything was replayed
    *) exit "$status" ;;
esac
if [ -n "$plot" ] && [ "$plot" != - ]; then printf '\nThe picture is %s.\n' "$plot" >&2; fi
if [ -n "$date" ]; then
    printf '\nThe figures of README are of the second pass, from several starts;\nthis recording is of %s.\n' "$date" >&2
fi
exit "$status"
