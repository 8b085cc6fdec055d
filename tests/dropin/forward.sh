#!/usr/bin/env bash
# forward.sh CASE: how the library that has the driver's name finds the driver behind it, and forwards to it. The build's files are
# in the environment: DROPIN, PRELOAD, NEWER, PLAIN (drivers), PLUGIN, TAKER, PROGRAM, FORWARD, BOUND, SIMULATED.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
front=${DROPIN%/*}
unset STREAMPOOL_DRIVER LD_PRELOAD LD_LIBRARY_PATH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The program's output under the settings is what it is under the driver alone, and the driver's own pools have no more to do than
# what must be theirs.
serves() {  # SETTING...
    env "$@" "$PROGRAM" dlsym > "$work/printed" 2> "$work/driver" || { cat "$work/printed" "$work/driver"; return 1; }
    diff -u "$here/expected/program.txt" "$work/printed"
    diff -u "$here/expected/driver.txt" "$work/driver"
}

# The driver is found.

variable_names_the_driver() {
    serves LD_LIBRARY_PATH="$front" STREAMPOOL_DRIVER="$NEWER/libcuda.so.1"
    serves LD_LIBRARY_PATH="$front:$PLAIN" STREAMPOOL_DRIVER="$NEWER/libcuda.so.1"
}

variable_may_name_the_simulated_driver() {
    LD_LIBRARY_PATH=$front STREAMPOOL_DRIVER=sim "$FORWARD" the_library_finds_the_driver_behind
    LD_LIBRARY_PATH=$front STREAMPOOL_DRIVER=$SIMULATED "$FORWARD" the_library_may_come_first
}

# A name that leads to us, or to another copy of ours, is passed over.
variable_may_name_us() {
    serves LD_LIBRARY_PATH="$front:$NEWER" STREAMPOOL_DRIVER=libcuda.so.1
    serves LD_LIBRARY_PATH="$front:$NEWER" STREAMPOOL_DRIVER="$DROPIN"
    serves LD_LIBRARY_PATH="$front:$NEWER" STREAMPOOL_DRIVER=
}

copies_of_ours_are_no_driver() {
    mkdir "$work/copy" "$work/link"
    cp "$DROPIN" "$work/copy/libcuda.so.1"
    ln -s "$DROPIN" "$work/link/libcuda.so.1"
    serves LD_LIBRARY_PATH="$front:$work/link:$work/copy:$front/:$NEWER"
    serves LD_LIBRARY_PATH="$front:$work/copy" STREAMPOOL_DRIVER="$NEWER/libcuda.so.1"
}

what_cannot_be_loaded_is_passed_over() {
    mkdir "$work/text" "$work/empty"
    echo "no library" > "$work/text/libcuda.so.1"
    serves LD_LIBRARY_PATH="$front:/nowhere::$work/empty:$work/text:$NEWER"
}

# The dynamic linker has this much less thread-local memory for libraries that a running program loads.
little_thread_local_memory_is_enough() {
    serves LD_LIBRARY_PATH="$front:$NEWER" GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0
}

# Nor do others that take of it leave too little.
libraries_that_take_thread_local_memory_leave_enough() {
    serves LD_PRELOAD="$TAKER" LD_LIBRARY_PATH="$front:$NEWER"
}

# No driver is found.

a_wrong_name_is_told() {
    LD_LIBRARY_PATH=$front:$NEWER STREAMPOOL_DRIVER=/nowhere/libcuda.so.1 \
        "$FORWARD" without_a_driver_calls_fail 2> "$work/told" || { cat "$work/told"; return 1; }
    diff -u - "$work/told" <<< "streampool: no CUDA driver: STREAMPOOL_DRIVER=/nowhere/libcuda.so.1 can't be loaded \
(/nowhere/libcuda.so.1: cannot open shared object file: No such file or directory)"
}

no_driver_at_all_is_told() {
    local folder=
    for folder in /lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu /lib64 /usr/lib64 /lib /usr/lib /usr/lib/wsl/lib \
            /usr/local/nvidia/lib64 /run/opengl-driver/lib; do
        test ! -e "$folder/libcuda.so.1" || { echo "this machine has a driver"; exit 77; }
    done
    grep -qs 'libcuda\.so\.1' /etc/ld.so.cache && { echo "this machine has a driver"; exit 77; }
    mkdir "$work/text"
    echo "no library" > "$work/text/libcuda.so.1"
    LD_LIBRARY_PATH=$front:$work/text "$FORWARD" without_a_driver_calls_fail 2> "$work/told" || { cat "$work/told"; return 1; }
    grep -q "^streampool: no CUDA driver behind $DROPIN: .* ($work/text/libcuda.so.1: .*); STREAMPOOL_DRIVER can name one, and .streampool run --sim. takes a simulated one\$" "$work/told" &&
        test "$(wc -l < "$work/told")" = 1 || { cat "$work/told"; return 1; }
}

# The functions.

arguments_arrive_and_missing_functions_fail() {
    LD_LIBRARY_PATH=$front:$PLAIN "$BOUND"
    LD_LIBRARY_PATH=$front:$PLAIN EAGER=1 "$BOUND"
}

both_forms_at_once_serve_once() {
    serves LD_PRELOAD="$PRELOAD" LD_LIBRARY_PATH="$front:$NEWER"
    serves LD_PRELOAD="$PRELOAD" LD_LIBRARY_PATH="$front" STREAMPOOL_DRIVER="$NEWER/libcuda.so.1"
    serves LD_PRELOAD="$DROPIN" LD_LIBRARY_PATH="$NEWER"
    serves LD_PRELOAD="$PRELOAD $DROPIN" LD_LIBRARY_PATH="$NEWER"
    serves LD_PRELOAD="$DROPIN $PRELOAD" LD_LIBRARY_PATH="$front:$NEWER"
    LD_PRELOAD=$PRELOAD LD_LIBRARY_PATH=$front:$NEWER "$FORWARD" the_library_finds_the_driver_behind
    LD_PRELOAD=$PRELOAD LD_LIBRARY_PATH=$front:$NEWER "$FORWARD" the_library_may_come_first
}

case $1 in
what_the_driver_lacks_*) LD_LIBRARY_PATH=$front:$PLAIN "$FORWARD" "$1" ;;
*_known_to_both_forms) LD_PRELOAD=$PRELOAD LD_LIBRARY_PATH=$front:$NEWER "$FORWARD" "$1" ;;
*_is_served | *_are_served | the_library_*) LD_LIBRARY_PATH=$front:$NEWER "$FORWARD" "$1" ;;
*) "$1" ;;
esac
