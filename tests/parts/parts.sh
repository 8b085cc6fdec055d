#!/usr/bin/env bash
# parts.sh CASE: the project is configured on a machine that lacks something; what is built, and what is said, is right.
# CMakeLists.txt runs it with the build's settings in the environment; everything is written under $WORK.
#
# The machine is a folder of empty headers and libraries, the only place where CMake looks for any. Nothing but the
# library, which needs none of them, is compiled. There is no nvcc.
set -eu
machine=$WORK/machine
build=$WORK/build
output=$WORK/output

fail() {
    cat "$output"
    echo "FAILED: $*"
    exit 1
}

# The machine has these libraries and no others, and no C++ compiler but for `cxx`.
give() {  # [zlib] [cjson] [cmocka] [cxx]
    rm -rf "$WORK"
    mkdir -p "$machine/usr/include/cjson" "$machine/usr/lib"
    export CXX=$WORK/missing/g++
    add "$@"
}

add() {  # [zlib] [cjson] [cmocka] [cxx]
    local thing
    for thing; do
        case $thing in
            zlib) touch "$machine/usr/include/zlib.h" "$machine/usr/lib/libz.so" ;;
            cjson) touch "$machine/usr/include/cjson/cJSON.h" "$machine/usr/lib/libcjson.so" ;;
            cmocka) touch "$machine/usr/include/cmocka.h" "$machine/usr/lib/libcmocka.so" ;;
            cxx) export CXX=$CXX_THERE ;;
        esac
    done
}

configure() {  # OPTION...
    "$CMAKE" -S "$CHECKOUT" -B "$build" -G "$GENERATOR" -DCMAKE_FIND_ROOT_PATH="$machine" \
        -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY \
        -DSTREAMPOOL_NVCC="$machine/nvcc" -DSTREAMPOOL_HEAP="${heap:-AUTO}" "$@" > "$output" 2>&1
}

# Status 0 is asked for by `configure`, and an error with all of these words by this.
refuses() {  # WORDS OPTION...
    local words=$1
    shift
    if configure "$@"; then fail "$* is no error"; fi
    tr -s '\n ' ' ' < "$output" | grep -qF -e "$words" || fail "the error doesn't say: $words"
}

# The table at the end has this row.
says() {  # PART STATE
    grep -qE "^--   $1 +$2\$" "$output" || fail "the table doesn't say: $1: $2"
}

# The last words name these packages and no others.
asks_for() {  # PACKAGE...
    local line
    line=$(grep 'apt-get install' "$output") || line=
    test "${line#*: apt-get install }" = "$*" || fail "asks for other packages than $*: $line"
}

has_target() {  # TARGET
    "$CMAKE" --build "$build" --target help | grep -E "^(\.\.\. )?$1(:|\$| )" > /dev/null
}

# Targets stand for parts: built are exactly those of these parts.
builds() {  # [program] [bench] [tests] [cxx]
    local part target
    while read -r part target; do
        if [[ " library $* " = *" $part "* ]]; then
            has_target "$target" || fail "$target isn't built"
        elif has_target "$target"; then
            fail "$target is built"
        fi
    done << 'END'
library streampool
library streampool_observe
library streampool_simcuda
program streampool_cli
bench streampool_bench
tests base_number_bits_test
tests streampool-conformance
cxx cpp_classes_test
cxx source_header_alone_cxx_test
END
}

skip() {  # WHY
    echo "skipped: $*"
    exit 77
}

need_cxx() {
    if [ ! "$CXX_THERE" ]; then skip "there is no C++ compiler"; fi
}

zlib='zlib \(zlib1g-dev\)'
cjson='cJSON \(libcjson-dev\)'
cmocka='cmocka \(libcmocka-dev\)'
cxx='C\+\+ compiler \(g\+\+\)'

case_bare() {
    give
    configure || fail "fails"
    says library built
    says 'simulated driver' built
    says drop-in built
    says 'program streampool' "left out: needs $zlib, $cjson"
    says 'program streampool-bench' "left out: needs $zlib, $cjson"
    says tests "left out: needs $cmocka"
    says 'tests in C\+\+' "left out: needs $cmocka, $cxx"
    asks_for zlib1g-dev libcjson-dev libcmocka-dev g++
    builds
}

# The device heap needs a compiler of kernels.
case_no_nvcc() {
    give
    configure || fail "fails"
    says 'device heap' "left out: needs nvcc"
    if has_target streampool_heap; then fail "builds the device heap"; fi
    heap=ON refuses "needs nvcc"
    printf '#!/bin/sh\necho compute_75\n' > "$machine/nvcc"
    chmod +x "$machine/nvcc"
    configure || fail "fails"
    says 'device heap' built
    has_target streampool_heap || fail "doesn't build the device heap"
    heap=OFF configure || fail "fails"
    says 'device heap' "left out: STREAMPOOL_HEAP is OFF"
}

# And all of the library comes about, and can be installed.
case_library() {
    give
    configure -DCMAKE_BUILD_TYPE=Debug || fail "fails"
    "$CMAKE" --build "$build" --config Debug > "$output" 2>&1 || fail "doesn't build"
    "$CMAKE" --install "$build" --config Debug --prefix "$WORK/installed" > "$output" 2>&1 || fail "can't be installed"
    test -f "$WORK/installed/include/streampool/streampool.h" || fail "no header is installed"
    test "$(find "$WORK/installed" -name 'libstreampool*.so*' -type f | wc -l)" = 7 || fail "not all seven libraries are installed"
    test ! -e "$WORK/installed/bin" || fail "a program is installed"
}

case_complete() {
    need_cxx
    give zlib cjson cmocka cxx
    configure || fail "fails"
    says 'program streampool' built
    says 'program streampool-bench' built
    says tests built
    says 'tests in C\+\+' built
    asks_for
    builds program bench tests cxx

    # CONTRIBUTING.md builds one test, and finds its file among all targets.
    local target
    target=$(sed -n 's/^cmake --build .* --target \([a-z_]*\) .*/\1/p' "$CHECKOUT/CONTRIBUTING.md")
    has_target "$target" || fail "has no target $target, which CONTRIBUTING.md builds"
    if [ "$GENERATOR" != Ninja ]; then return 0; fi
    "$CMAKE" --build "$build" -- -t targets all | grep "/$target.dir/.*_test\.c\.o: " > /dev/null ||
        fail "names no file of the target $target"
}

case_no_zlib() {
    give cjson cmocka
    configure || fail "fails"
    says 'program streampool' "left out: needs $zlib"
    says 'program streampool-bench' "left out: needs $zlib"
    asks_for zlib1g-dev g++
    builds tests
}

case_no_cjson() {
    give zlib cmocka
    configure || fail "fails"
    says 'program streampool' "left out: needs $cjson"
    asks_for libcjson-dev g++
    builds tests
}

case_no_cmocka() {
    need_cxx
    give zlib cjson cxx
    configure || fail "fails"
    says tests "left out: needs $cmocka"
    says 'tests in C\+\+' "left out: needs $cmocka"
    asks_for libcmocka-dev
    builds program bench
}

case_no_cxx() {
    give zlib cjson cmocka
    configure || fail "fails"
    says 'tests in C\+\+' "left out: needs $cxx"
    asks_for g++
    builds program bench tests
}

# Nothing is missing where nobody wants it.
case_off() {
    give
    configure -DSTREAMPOOL_CLI=OFF -DSTREAMPOOL_TESTS=no || fail "fails"
    says 'program streampool' 'left out: STREAMPOOL_CLI is OFF'
    says 'program streampool-bench' 'left out: needs STREAMPOOL_CLI'
    says tests 'left out: STREAMPOOL_TESTS is OFF'
    says 'tests in C\+\+' 'left out: needs STREAMPOOL_TESTS'
    asks_for
    builds
}

# ON never leaves anything out.
case_wanted() {
    give zlib
    refuses 'needs cJSON (libcjson-dev).' -DSTREAMPOOL_CLI=ON
    refuses 'STREAMPOOL_BENCH is ON, but program streampool-bench' -DSTREAMPOOL_BENCH=on -DSTREAMPOOL_CLI=AUTO
    refuses 'needs STREAMPOOL_CLI.' -DSTREAMPOOL_CLI=OFF
    refuses 'needs cmocka (libcmocka-dev).' -DSTREAMPOOL_BENCH=OFF -DSTREAMPOOL_TESTS=1
    add cmocka
    refuses 'needs C++ compiler (g++).' -DSTREAMPOOL_TESTS_CXX=ON
    add cjson
    configure -DSTREAMPOOL_CLI=ON -DSTREAMPOOL_BENCH=ON -DSTREAMPOOL_TESTS_CXX=AUTO || fail "fails"
    builds program bench tests
}

case_unknown() {
    give
    refuses "STREAMPOOL_BENCH is 'perhaps': it must be ON, OFF or AUTO" -DSTREAMPOOL_BENCH=perhaps
}

# A build folder takes in what came to the machine since.
case_later() {
    need_cxx
    give
    configure || fail "fails"
    builds
    add zlib cjson cmocka cxx
    configure || fail "fails the second time"
    asks_for
    builds program bench tests cxx
}

# pkg-config may know of a library in a place of its own.
case_elsewhere() {
    local place=$machine/opt/json
    command -v pkg-config > /dev/null || skip "there is no pkg-config"
    case $WORK in *' '*) skip "CMake cuts what pkg-config says at spaces" ;; esac
    give zlib
    mkdir -p "$place/include/cjson" "$place/lib/pkgconfig"
    touch "$place/include/cjson/cJSON.h" "$place/lib/libcjson.so"
    printf '%s\n' "Name: libcjson" "Description: JSON" "Version: 1" "Libs: -L$place/lib -lcjson" \
        "Cflags: -I$place/include" > "$place/lib/pkgconfig/libcjson.pc"
    configure -DSTREAMPOOL_TESTS=OFF || fail "fails"
    builds
    rm -r "$build"
    PKG_CONFIG_PATH=$place/lib/pkgconfig configure -DSTREAMPOOL_TESTS=OFF || fail "fails"
    builds program bench
}

# The configurations of tests/run.sh leave out no part but the device heap where there is no nvcc: its tests need none.
case_presets() {
    local part parts
    parts=$(sed -n 's/^sp_add_part(\([A-Z_]*\) .*/\1/p' "$CHECKOUT/CMakeLists.txt")
    test "$(echo "$parts" | wc -l)" -ge 4 || { echo "CMakeLists.txt isn't laid out as this test reads it"; exit 1; }
    for part in $parts; do
        if [ "$part" = HEAP ]; then continue; fi
        sed -n '/"name": "ci"/,/^        }/p' "$CHECKOUT/CMakePresets.json" | grep -q "\"STREAMPOOL_$part\": \"ON\"" ||
            { echo "the preset ci doesn't set STREAMPOOL_$part to ON"; exit 1; }
    done
}

# The preset release builds what is installed and no more, in few steps, where tests could be built, too.
case_release() {
    local steps
    if [ "$GENERATOR" != Ninja ]; then skip "the presets are for Ninja"; fi
    give zlib cjson cmocka
    printf '#!/bin/sh\necho compute_75\n' > "$machine/nvcc"
    chmod +x "$machine/nvcc"
    (cd "$CHECKOUT" && configure --preset release) || fail "fails"
    for target in streampool streampool_observe streampool_mam streampool_copy streampool_swap streampool_heap streampool_simcuda \
            streampool_cli streampool_dropin streampool_forward; do
        has_target "$target" || fail "doesn't build $target"
    done
    for target in streampool_bench base_number_bits_test; do
        if has_target "$target"; then fail "builds $target"; fi
    done
    steps=$("$CMAKE" --build "$build" -- -t commands all | grep -vc '^ninja: ')
    echo "$steps steps" | tee "$output"
    test "$steps" -gt 200 || fail "are too few to be counted right"
    test "$steps" -le 350 || fail "are more than 350"
}

# Sources are no build folder, and nothing that was tried there is in the way of a real one.
case_in_source() {
    give
    mkdir -p "$machine/src/package"
    cp "$CHECKOUT/CMakeLists.txt" "$machine"
    cp "$CHECKOUT/src/package/parts.cmake" "$machine/src/package"
    (cd "$machine" && "$CMAKE" -G "$GENERATOR" .) > "$output" 2>&1 && fail "is no error"
    grep -q 'cmake -B build' "$output" || fail "the error doesn't say what to do"
}

# Inside another project nothing is looked for, and no table printed.
case_inside() {
    give zlib cjson cmocka
    mkdir "$WORK/outer"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(outer LANGUAGES C)' \
        "add_subdirectory(\"$CHECKOUT\" streampool)" > "$WORK/outer/CMakeLists.txt"
    "$CMAKE" -S "$WORK/outer" -B "$build" -G "$GENERATOR" > "$output" 2>&1 || fail "fails"
    if grep -qE 'left out|CXX' "$output"; then fail "says more than it need"; fi
    if has_target streampool_cli || has_target base_number_bits_test; then fail "builds more than the library"; fi
    has_target streampool || fail "doesn't build the library"
}

# The flags of a file's compilation that say how much to optimise, and NDEBUG.
flags_of() {  # TARGET.dir/FILE
    grep "^ *\"command\".*/$1\.o " "$build/compile_commands.json" | tr ' ' '\n' |
        grep -E '^-(O.*|DNDEBUG)$' | tr '\n' ' '
}

inside_is_compiled_with() {  # LIBRARY PROGRAM OPTION...
    local library=$1 program=$2
    shift 2
    rm -rf "$build"
    "$CMAKE" -S "$WORK/outer" -B "$build" -G "$GENERATOR" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" > "$output" 2>&1 || fail "fails"
    for file in streampool.dir/api/memory.c streampool_driver.dir/base/lock.c streampool_simcuda.dir/engine.c; do
        test "$(flags_of "$file")" = "$library" || fail "$file has $(flags_of "$file") with $*"
    done
    test "$(flags_of program.dir/program.c)" = "$program" || fail "program.c has $(flags_of program.dir/program.c) with $*"
}

# A project without a build type gets an optimised library and keeps its own flags; one with a type, or with flags of its own, has
# chosen.
case_inside_optimised() {
    case $GENERATOR in *Multi-Config) skip "this generator has always a build type" ;; esac
    give
    mkdir "$WORK/outer"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(outer LANGUAGES C)' 'add_compile_options(${OUTER_OPTIONS})' \
        "add_subdirectory(\"$CHECKOUT\" streampool)" 'add_executable(program program.c)' \
        'target_link_libraries(program PRIVATE streampool::streampool)' \
        'if(CMAKE_BUILD_TYPE)' 'message("its type is ${CMAKE_BUILD_TYPE}")' 'endif()' > "$WORK/outer/CMakeLists.txt"
    echo 'int main(void) { return 0; }' > "$WORK/outer/program.c"
    unset CFLAGS
    inside_is_compiled_with '-DNDEBUG -O2 ' ''
    if grep 'its type is' "$output"; then fail "gives the project a build type"; fi
    inside_is_compiled_with '-DNDEBUG -O2 ' '' -DCMAKE_C_FLAGS='-g -Wno-odd-O'
    inside_is_compiled_with '-O1 ' '-O1 ' -DCMAKE_C_FLAGS='-g -O1'
    inside_is_compiled_with '-DNDEBUG -O2 -Og ' '-Og ' -DOUTER_OPTIONS=-Og
    inside_is_compiled_with '' '' -DCMAKE_BUILD_TYPE=Debug
    inside_is_compiled_with '-O3 -DNDEBUG ' '-O3 -DNDEBUG ' -DCMAKE_BUILD_TYPE=Release
    inside_is_compiled_with '' '' -DCMAKE_BUILD_TYPE=None
}

# So does the project by itself, with debug information.
case_optimised() {
    case $GENERATOR in *Multi-Config) skip "this generator has always a build type" ;; esac
    give
    unset CFLAGS
    configure -DCMAKE_EXPORT_COMPILE_COMMANDS=ON || fail "fails"
    test "$(flags_of streampool.dir/api/memory.c)" = '-O2 -DNDEBUG ' || fail "is compiled with $(flags_of streampool.dir/api/memory.c)"
    configure -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_BUILD_TYPE=Debug || fail "fails"
    test "$(flags_of streampool.dir/api/memory.c)" = '' || fail "is compiled with $(flags_of streampool.dir/api/memory.c) for Debug"
}

"case_$1"
