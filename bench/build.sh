# The release build that the scripts here measure. Sourced by them, in the checkout's root.
. tests/packages.sh
. tests/configure.sh

# What bench/soak.sh needs, and bench/plot.sh.
table_needs="
command  jq              jq
"
plot_needs="
command  gnuplot         gnuplot-nox
$table_needs"

# A script that is started while another one builds in FOLDER waits for it.
build_release() {  # FOLDER INSTALL
    provide "$build_needs" "$2" || return 1
    mkdir -p "$1"
    (
        flock 9
        make_release "$1" > "$1/build.log" 2>&1 || { cat "$1/build.log"; exit 1; }
    ) 9> "$1/lock"
}

make_release() {  # FOLDER
    configure_anew "$1" --preset release -DSTREAMPOOL_CLI=ON -DSTREAMPOOL_BENCH=ON -DSTREAMPOOL_TESTS=OFF &&
        cmake --build "$1" --parallel "$(nproc)"
}
