#!/usr/bin/env bash
# compare.sh BUILD CUDA [FOLDER]: on a machine with a GPU and CUDA's toolkit in CUDA (as /usr/local/cuda), builds runtime_program.c
# in six ways, runs each alone and in both modes of the drop-in of the build folder BUILD, and compares what they print, line for
# line. Lines that begin with "reserved" hold where the number is no more than CUDA's. What is printed stays in FOLDER.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) cuda=$2
work=${3:-$(mktemp -d)}
library=$(echo "$cuda"/lib*/libcudart_static.a)
libraries=$(dirname "${library%% *}")
mkdir -p "$work"
unset STREAMPOOL_DRIVER

# make_program NAME OPTION_OR_SOURCE...
make_program() {
    gcc -O1 -D_GNU_SOURCE -I"$cuda/include" -o "$work/$1" "${@:2}" -lpthread -ldl -lrt || exit 1
}
shared=$(echo "$libraries"/libcudart.so*)
shared=${shared%% *}
driver=$(ldconfig -p | awk '/libcuda\.so\.1 .*x86-64/ { print $NF; exit }')
program=$here/runtime_program.c over=$here/over_driver.c threads=-DCUDA_API_PER_THREAD_DEFAULT_STREAM
make_program shared "$program" "$shared"
make_program static "$program" "$libraries/libcudart_static.a"
make_program shared_per_thread $threads "$program" "$shared"
make_program static_per_thread $threads "$program" "$libraries/libcudart_static.a"
make_program driver "$program" "$over" "$driver"
make_program dlopen -DBY_DLOPEN "$program" "$over"

# The first file is CUDA's, the second ours.
differences() {
    awk -v other="$2" '
        { theirs = $0; if ((getline ours < other) <= 0) { print "line " NR " is missing"; exit } }
        /^reserved/ {
            name = theirs; sub(/: .*/, "", name); kind = ours; sub(/: .*/, "", kind)
            more = substr(ours, length(kind) + 3) + 0 > substr(theirs, length(name) + 3) + 0
            if (name == kind && !more) next
        }
        theirs != ours { print "  CUDA: " theirs; print "  ours: " ours }
        END { if ((getline ours < other) > 0) print "more lines: " ours }' "$1"
}

failed=0
for name in shared static shared_per_thread static_per_thread driver dlopen; do
    export LD_LIBRARY_PATH=$libraries
    timeout 60 "$work/$name" > "$work/$name.cuda" 2>&1
    code=$?
    for mode in preload library; do
        case $mode in
        preload) timeout 60 env LD_PRELOAD="$build/lib/libstreampool_dropin.so" "$work/$name" ;;
        library) timeout 60 env LD_LIBRARY_PATH="$build/lib/dropin:$libraries" "$work/$name" ;;
        esac > "$work/$name.$mode" 2>&1
        ours=$?
        found=$(differences "$work/$name.cuda" "$work/$name.$mode")
        if [ "$code" = 0 ] && [ "$ours" = 0 ] && [ -z "$found" ]; then
            echo "$name, $mode: same, $(wc -l < "$work/$name.cuda") lines"
        else
            failed=1
            echo "$name, $mode: differs (status $code and $ours)"
            echo "$found"
        fi
    done
done
exit $failed
