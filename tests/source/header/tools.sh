#!/usr/bin/env bash
# tools.sh CHECKOUT CC CXX [CUDA_INCLUDE]: people and tools find everything in the text of the public headers, with no preprocessor.
#
# - Each header compiles alone, as C99, C11 and C++11: the one that includes the toolkit's only where that is, and also with
#   per-thread default streams and as C++20. CXX may be empty: then nothing is compiled as C++.
# - Each type, field, enumerator and function has a comment of its own, in the lines before it that begin with three
#   slashes. An enumerator stands there with its number. An attribute's comment has at most four lines.
# - The lists have the names and the numbers of the enumerators. None is missing on either side.
set -eu
cd "$1"
read -ra cc <<< "$2"  # a compiler may have words in front of it, such as ccache
read -ra cxx <<< "$3"
cuda=${4:-}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "$*"
    failed=1
}

compile_alone() {  # HEADER LANGUAGE STANDARD OPTION...
    local header=$1 language=$2 standard=$3 compiler=("${cc[@]}")
    shift 3
    if [ "$language" = c++ ]; then compiler=("${cxx[@]}"); fi
    if [ ${#compiler[@]} = 0 ]; then return 0; fi
    printf '#include <%s>\n' "$header" > "$work/alone"
    "${compiler[@]}" "$@" -x "$language" -std="$standard" -Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only \
        -Iinclude "$work/alone" ||
        fail "$header does not compile alone as $standard"
}

compile_with_toolkit() {  # HEADER
    if [ ! -e "$cuda/cuda_runtime.h" ]; then return 0; fi
    compile_alone "$1" c c99 -isystem "$cuda"
    compile_alone "$1" c c11 -isystem "$cuda" -DCUDA_API_PER_THREAD_DEFAULT_STREAM
    compile_alone "$1" c++ c++11 -isystem "$cuda" -Wold-style-cast
    compile_alone "$1" c++ c++20 -isystem "$cuda" -DCUDA_API_PER_THREAD_DEFAULT_STREAM
}

# Prints "ENUM NAME NUMBER" for each enumerator of a header, and complains of what tools would miss.
read_text() {  # HEADER
    awk '
        function complain(what) { printf "%s:%d: %s\n", FILENAME, FNR, what > "/dev/stderr"; bad = 1 }
        /^ *\/\/\/( |$)/ { comment++; next }
        /^(typedef )?(enum|struct) [A-Za-z]+ \{$/ {
            if (!comment) complain("no comment stands before this type")
            body = 1
            name = $(NF - 1)
            is_enum = /enum/
        }
        /^[A-Z]+_API / && !comment { complain("no comment stands before this function") }
        /^}/ { body = 0 }
        body && /^ +[^ \/]/ {
            if (!comment) complain("no comment stands before this line")
            if (name == "poolMemPoolAttr" && comment > 4) complain("the comment has more than four lines")
            if (is_enum && !/^    [A-Za-z0-9_]+ = (0x)?[0-9A-F]+,?$/) complain("this is no enumerator with its number")
            if (is_enum) { sub(/,$/, ""); print name, $1, $3 }
        }
        { comment = 0 }
        END { exit bad }' "include/$1"
}

# Prints "NAME NUMBER" for each row of a list. PREFIX is what the list leaves out of the name.
read_list() {  # HEADER LIST PREFIX
    printf '#include <%s>\n#define ROW(name, number, more) @%s name number@\n%s(ROW)\n' "$1" "$3" "$2" > "$work/rows.c"
    "${cc[@]}" -E -P -Iinclude "$work/rows.c" | tr '\n' ' ' | grep -oE '@[^@;]*@' | tr -d '@' |
        awk -v prefix="$3" '{ print prefix $(NF - 1), $NF }'
}

compare() {  # ENUM HEADER LIST[:PREFIX]...
    local enum=$1 header=$2 list prefix
    shift 2
    awk -v enum="$enum" '$1 == enum { print $2, $3 }' "$work/enumerators" | sort > "$work/in-text"
    test -s "$work/in-text" || fail "enum $enum was not found"
    for list; do
        case $list in *:*) prefix=${list#*:} ;; *) prefix= ;; esac
        read_list "$header" "${list%:*}" "$prefix"
    done | sort > "$work/in-lists"
    diff -u --label "enum $enum" --label "its lists: $*" "$work/in-text" "$work/in-lists" ||
        fail "enum $enum and its lists differ"
}

for header in $(cd include && echo streampool/*.h); do
    if grep -q '^#include <cuda' "include/$header"; then
        compile_with_toolkit "$header"
        continue
    fi
    compile_alone "$header" c c99
    compile_alone "$header" c c11
    compile_alone "$header" c++ c++11
    read_text "$header" >> "$work/enumerators" || failed=1
done
compare poolError streampool/lists.h STREAMPOOL_ERRORS
compare poolMemPoolAttr streampool/lists.h STREAMPOOL_POOL_ATTRIBUTES \
    STREAMPOOL_POOL_STATISTICS:poolMemPoolStat STREAMPOOL_POOL_GAUGES:poolMemPoolStat
compare poolStreamPromise streampool/lists.h STREAMPOOL_STREAM_PROMISES
compare simcudaReportKind streampool/simcuda.h SIMCUDA_REPORTS:simcudaReport_

if [ "$failed" = 0 ]; then echo "$(wc -l < "$work/enumerators") enumerators, each with a comment and as in its list"; fi
exit "$failed"
