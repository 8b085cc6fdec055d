#!/usr/bin/env bash
# refused.sh CHECKOUT CXX: a C++ header that can't be used says why, in one line that begins with its name.
set -eu
checkout=$1
read -ra cxx <<< "$2"  # a compiler may have words in front of it, such as ccache

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# Needs the preprocessor only. TEXT stands behind the header's name in its error.
refuses() {  # HEADER TEXT OPTION...
    local header=$1 text=$2
    shift 2
    echo "#include <streampool/$header>" > "$work/program.cc"
    if "${cxx[@]}" -E -I"$checkout/include" "$@" "$work/program.cc" > /dev/null 2> "$work/errors"; then
        echo "$header can be included with $*"
        failed=1
    elif ! grep -q "error.*streampool/$header $text" "$work/errors"; then
        echo "$header with $* does not say \"$text\":"
        head -5 "$work/errors"
        failed=1
    fi
}

# Where a header is in the compiler's own folders, it can't be missing.
is_at_hand() {  # HEADER
    printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | "${cxx[@]}" -E -x c++ - > /dev/null 2>&1
}

mkdir -p "$work/old/cuda"
echo '#define CCCL_VERSION 2004000' > "$work/old/cuda/version"
touch "$work/old/cuda/memory_resource"
mkdir -p "$work/hidden/cuda"
echo '#define CCCL_VERSION 2005000' > "$work/hidden/cuda/version"
touch "$work/hidden/cuda/memory_resource"

refuses streampool.hpp 'needs C++17' -std=c++14
refuses streampool.hpp 'throws exceptions' -std=c++17 -fno-exceptions
is_at_hand cuda/memory_resource || refuses cccl.hpp 'needs CCCL 2.5 or newer: add' -std=c++17
refuses cccl.hpp 'needs CCCL 2.5 or newer: this one is older' -std=c++17 -I"$work/old"
refuses cccl.hpp 'needs -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE before CCCL 3.1' -std=c++17 -I"$work/hidden"
is_at_hand rmm/resource_ref.hpp || refuses rmm.hpp 'needs RMM' -std=c++17

if [ "$failed" = 0 ]; then echo "each header that can't be used says why"; fi
exit "$failed"
