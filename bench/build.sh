# The release build that the scripts here measure. Sourced by them, in the checkout's root.
. tests/packages.sh
. tests/configure.sh

# What bench/soak.sh needs.
table_needs="
command  jq              jq
"

# Of what ninja prints, a line for each tenth, with the time that is left as far as the steps so far can tell.
tell_build() {
    local line tenths=0 begin=$SECONDS left
    while IFS= read -r line; do
        if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] && ((BASH_REMATCH[1] * 10 / BASH_REMATCH[2] > tenths)); then
            tenths=$((BASH_REMATCH[1] * 10 / BASH_REMATCH[2]))
            left=$(((SECONDS - begin) * (BASH_REMATCH[2] - BASH_REMATCH[1]) / BASH_REMATCH[1]))
            echo "  step ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]}, about $left s left"
        fi
    done
}

# A script that is started while another one builds in FOLDER waits for it.
build_release() {  # FOLDER INSTALL [OPTION...]
    local folder=$1
    provide "$build_needs" "$2" || return 1
    mkdir -p "$folder"
    shift 2
    (
        set -o pipefail
        flock 9
        echo "Building streampool in $folder" >&2
        make_release "$folder" "$@" 2>&1 | tee "$folder/build.log" | tell_build >&2 || { cat "$folder/build.log"; exit 1; }
    ) 9> "$folder/lock"
}

make_release() {  # FOLDER OPTION...
    configure_anew "$1" --preset release -DSTREAMPOOL_CLI=ON "${@:2}" && cmake --build "$1" --parallel "$(nproc)"
}
