#!/usr/bin/env bash
# Builds and tests everything, from a bare Debian 12 machine on:
#
#   bash tests/run.sh [--no-install]
#
# With gcc and with clang, warnings as errors, and with the address, undefined behaviour and thread sanitizers. Needs no
# GPU: the tests run on the simulated driver. Packages that are missing are installed with apt-get, by sudo where
# that is necessary; with --no-install they are only named. Everything is built in build/ under the checkout. Stops at
# the first configuration that fails. The last line counts all tests.
set -eu
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/packages.sh
. tests/configure.sh
. tests/results.sh
. tests/watch.sh

configurations="ci-gcc ci-clang asan tsan"
install=yes

usage() {
    echo "usage: bash tests/run.sh [--no-install]" >&2
    exit 2
}

# Where it is by chance, one start tells nothing.
starts_each_time() {  # PROGRAM
    local i
    for i in {1..50}; do
        if ! "$1" > /dev/null 2>&1; then return 1; fi
    done
}

# A kernel that places mappings with more randomness than the thread sanitizer's fixed layout allows for makes every
# program built with it fail at its start. Without randomness they run.
choose_launcher() {  # CONFIGURATION
    launcher=
    if [ "$1" != tsan ]; then return 0; fi
    echo 'int main(void) { return 0; }' | clang -fsanitize=thread -x c - -o build/tsan_probe
    if starts_each_time build/tsan_probe; then return 0; fi
    if setarch -R build/tsan_probe > /dev/null 2>&1; then
        launcher="setarch -R"
        return 0
    fi
    echo "The thread sanitizer doesn't run on this kernel. 'sysctl vm.mmap_rnd_bits=28' makes it run." >&2
    return 1
}

run_configuration() {  # NAME
    local name=$1 results=$PWD/build/$1/results.xml status=0
    echo
    echo "== $name"
    choose_launcher "$name"
    configure_anew "build/$name" --preset "$name" > "build/$name.log" 2>&1 || { cat "build/$name.log"; return 1; }
    cmake --build --preset "$name" --parallel "$jobs"
    rm -f "$results"
    run_watched "build/$name/watch" $launcher ctest --preset "$name" --parallel "$jobs" --output-junit "$results" || status=$?
    count_results "$results"
    return "$status"
}

# The last words, whatever happened before.
summarise() {
    local status=$?
    echo
    if [ "$status" != 0 ]; then echo "FAILED in ${current:-the set-up}"; fi
    if [ -n "${current:-}" ] && [ -s "build/$current/watch/hung" ]; then
        echo "These made no progress in ten minutes and were ended:"
        cat "build/$current/watch/hung"
    fi
    echo "Total time: $((SECONDS / 60)) min $((SECONDS % 60)) s"
    echo "$passed passed, $failed failed, $skipped skipped"
}

for argument; do
    case $argument in
        --no-install) install=no ;;
        *) usage ;;
    esac
done

trap summarise EXIT
jobs=$(nproc)
provide "$build_needs $test_needs" "$install"
mkdir -p build
for current in $configurations; do
    run_configuration "$current"
done
