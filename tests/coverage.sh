#!/usr/bin/env bash
# Which lines and branches of the library the tests run:
#
#   bash tests/coverage.sh [--no-install] [--report] [FOLDER...]
#
# Builds with gcc's counters in build/coverage, runs the tests that run the library, and prints lines and branches by folder
# of src/; then, for each file of the folders (order, region, supply, process, calls, vmm, heap and driver unless others are named), the lines that
# nothing ran, and those with a branch that nothing took. With --report it prints what the last run counted. Packages that
# are missing are installed as by tests/run.sh. Tests that fail are named, and the report follows all the same.
set -eu
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/packages.sh
. tests/configure.sh

coverage_needs="
command  python3         python3
command  gcov            gcc
"
# Sources, installed trees and mutants have builds of their own, and the programs run little that others don't. The fault loop
# and the random programs are thousands of processes, each of which would add its counts to hundreds of files.
left_out='^(mutants|install|package|parts|manual|instructions|source|program|trace|unload_plugin|fault|random)'
install=yes
run=yes
folders=()
for argument; do
    case $argument in
        --no-install) install=no ;;
        --report) run=no ;;
        -*) echo "usage: bash tests/coverage.sh [--no-install] [--report] [FOLDER...]" >&2; exit 2 ;;
        *)
            if [ ! -d "src/library/$argument" ]; then echo "There is no folder src/library/$argument." >&2; exit 2; fi
            folders+=("$argument")
            ;;
    esac
done
if [ ${#folders[@]} = 0 ]; then folders=(order region supply process calls vmm heap driver); fi

provide "$build_needs $test_needs $coverage_needs" "$install"
status=0
if [ "$run" = yes ]; then
    configure_anew build/coverage --preset coverage > /dev/null
    cmake --build --preset coverage --parallel "$(nproc)"
    find build/coverage -name '*.gcda' -delete
    ctest --preset coverage --parallel "$(nproc)" -E "$left_out" || status=$?
    echo
fi
python3 tests/coverage.py build/coverage . "${folders[@]}"
exit "$status"
