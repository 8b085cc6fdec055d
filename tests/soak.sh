#!/usr/bin/env bash
# What takes too long for tests/run.sh:
#
#   bash tests/soak.sh [--no-install] [PART...]
#
#   bounded    the rows of tests/cli/bounded_test.c with their whole amounts: a million threads and streams, a hundred
#              thousand contexts and pools; fails where memory or address space grows by more than the rows allow
#   passes     50 passes of each trace of bench/traces alone, and of all in turn on one pool, from five starts; fails where what
#              is reserved after pass 50 is more than 1 % above that after pass 10
#   kernel-heap  5,000 seeds of the device code of a heap inside kernels, on the model of warps
#   room       streampool-room: 20 million operations on each of four API levels and on plain memory, so a hundred
#              million; each order of frees a thousand times at least
#   mutants    200 mutants made by rule, others at each run: prints those that the tests of their module let live, and
#              fails for none of them
#   tsan-gcc   the tests with threads under gcc's thread sanitizer: tests/run.sh has clang's
#
# All parts unless some are named. Each has a build of its own under build/. Packages that are missing are installed as by
# tests/run.sh. A part that fails is named, and the others run.
set -eu
. "$(dirname "${BASH_SOURCE[0]}")/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tests/packages.sh
. tests/configure.sh

parts="bounded passes kernel-heap room mutants tsan-gcc"
# Tests in which threads meet, each a program by its name; stress, unload and the random programs are added below.
threaded="base_lock base_biased_lock base_thread_fork order_indirect_context region_ask region_owner process_life_reaper
    calls_wait_context_12000 simcuda_life kernel_heap_patterns kernel_heap_random"
install=yes
wanted=()

build() {  # PRESET TARGET...
    local preset=$1
    shift
    configure_anew "build/$preset" --preset "$preset" > "build/$preset.log" 2>&1 || { cat "build/$preset.log"; return 1; }
    cmake --build --preset "$preset" --parallel "$(nproc)" ${1:+--target "$@"}
}

run_bounded() {
    build ci-gcc program_bounded_test streampool_bench streampool_simcuda || return 1
    STREAMPOOL_DRIVER=$PWD/build/ci-gcc/lib/libstreampool_simcuda.so \
        build/ci-gcc/tests/cli/program_bounded_test --whole
}

run_passes() {
    local results=$PWD/build/ci-gcc/soak
    build ci-gcc streampool_cli streampool_simcuda || return 1
    bash bench/soak.sh --no-install --program build/ci-gcc/bin/streampool --modes kept "$results" || return 1
    echo
    bash tests/creep.sh "$results"/kept.*.json
}

run_kernel_heap() {
    build ci-gcc kernel_heap_random_test || return 1
    build/ci-gcc/tests/heap/kernel_heap_random_test --seed 1000 --seeds 5000
}

run_room() {
    local environment
    build ci-gcc streampool-room streampool_simcuda || return 1
    for environment in ROOM=default STREAMPOOL_DRIVER_API=12000 STREAMPOOL_DRIVER_API=11040 STREAMPOOL_DRIVER_API=10020 \
        STREAMPOOL_SIMCUDA=vmm=missing; do
        echo "$environment"
        env "$environment" build/ci-gcc/bin/streampool-room --driver sim --seeds 1000000 --operations 25000000 \
            --orders 1000 || return 1
    done
}

run_mutants() {
    local seed=$((10#$(date +%s)))
    echo "seed $seed"
    /usr/bin/python3 -B tests/mutants/generate.py build/mutants --seed "$seed"
}

run_tsan_gcc() {
    local launcher='' names
    # shellcheck disable=SC2046,SC2086  # a word for each name
    build tsan-gcc streampool streampool_simcuda streampool-random stress_test unload_test \
        $(printf '%s_test ' $threaded) || return 1
    # As in tests/run.sh: without randomness of addresses the runtime finds its place on any kernel.
    if setarch -R true 2> /dev/null; then launcher="setarch -R"; fi
    # shellcheck disable=SC2086
    names=$(printf '%s|' $threaded)
    $launcher ctest --preset tsan-gcc --parallel "$(nproc)" -R "^(${names}stress|unload|random_.*threads.*)\$"
}

for argument; do
    case $argument in
        --no-install) install=no ;;
        bounded | passes | kernel-heap | room | mutants | tsan-gcc) wanted+=("$argument") ;;
        *) echo "usage: bash tests/soak.sh [--no-install] [bounded] [passes] [kernel-heap] [room] [mutants] [tsan-gcc]" >&2; exit 2 ;;
    esac
done
if [ ${#wanted[@]} = 0 ]; then read -ra wanted <<< "$parts"; fi

# Debian's own python3 has what Debian's packages bring, another one may not.
mutants_need="command  /usr/bin/python3  python3
module   clang.cindex      python3-clang-14"
provide "$build_needs $test_needs $mutants_need" "$install"
mkdir -p build
failed=()
for part in "${wanted[@]}"; do
    echo
    echo "== $part"
    "run_${part//-/_}" || failed+=("$part")
done
echo
if [ ${#failed[@]} -gt 0 ]; then
    echo "FAILED: ${failed[*]}"
    exit 1
fi
echo "All is as it should be."
