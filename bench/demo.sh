#!/usr/bin/env bash
# Replays the ten traces of bench/traces/ through the pool, CUDA's own pool and plain cuMemAlloc, and prints the table:
#
#   bash bench/demo.sh [--no-install] [OPTION...]
#
# On the GPU if there is one. Else on the simulated driver: then driver calls take what they cost on an H200, the
# library's own time is measured, and below the table stands CUDA's pool as it was recorded on an H200
# (bench/recorded/h200.json). Packages that are missing are installed with apt-get, by sudo where that is necessary;
# with --no-install they are only named. Other options go to `streampool replay` (docs/replay.md); the files that they name
# are those of the folder that the demo is started in.
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
options=()
previous=

# The program isn't there yet to refuse an option; its page names those that it has. A name may be cut short.
check_option() {  # ARGUMENT
    local name=${1%%=*}
    if [[ $name != --* ]] || grep -qF -- "${name//-/\\-}" docs/man/streampool-replay.1; then return 0; fi
    echo "usage: bash bench/demo.sh [--no-install] [OPTION...]; streampool replay has no option $name (docs/replay.md)" >&2
    exit 64
}

for argument; do
    case $argument in
        --no-install) install=no ;;
        *) check_option "$argument" && options+=("$argument") ;;
    esac
    case $argument in
        --device=*) device=${argument#*=} ;;
        -d?*) device=${argument#-d} ;;
    esac
    case $previous in
        --device | -d) device=$argument ;;
    esac
    previous=$argument
done

is_simulated() {
    "$program" info --device "$device" --json - 2> /dev/null | grep -q '"simulated":[[:space:]]*true'
}

build_release "$build" "$install"
beside=()
if [ -e "$recorded" ] && is_simulated; then beside=(--beside "$recorded"); fi
cd "$started_in"
exec "$program" replay --device auto --allocator pool,driver,direct "${beside[@]}" "${options[@]}" "$traces"/*.csv.gz
