#!/usr/bin/env bash
# exports.sh CHECKOUT LIBRARY COMPILER...: three lists of names are the same: the functions that the public header declares and
# those of api/interpose.h, the names in the version script, and the symbols that the shared library exports, each with its version.
# What the drop-in alone may use has the version STREAMPOOL_PRIVATE.
set -eu
checkout=$1 library=$2
shift 2
compiler=("$@")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The header is read by the preprocessor in both of its forms, with and without per-thread default streams.
declared() {
    for form in -USTREAMPOOL_NONE -DCUDA_API_PER_THREAD_DEFAULT_STREAM; do
        "${compiler[@]}" -E -P "$form" -x c "$checkout/include/streampool/streampool.h"
    done | grep -v '^ *typedef' | grep -oE '\bpool[A-Za-z0-9_]+[[:space:]]*\(' | tr -d '( \t' | sed 's/$/ STREAMPOOL_0/' | sort -u
    grep -oE "\bsp_interpose_[a-z_]+\(" "$checkout/src/library/api/interpose.h" | tr -d '(' | sed 's/$/ STREAMPOOL_PRIVATE/' | sort -u
}

scripted() {
    awk '/^STREAMPOOL/ { version = $1 } /^local:/ { version = "" } version && /^ .*;$/ { sub(/;/, ""); print $1, version }' \
        "$checkout/src/library/streampool.map" | sort -u
}

# A version itself is a symbol of type A.
exported() {
    nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@+/, " ", $3); print $3 }' | sort -u
}

declared > "$work/header"
scripted > "$work/version-script"
exported > "$work/library"

test -s "$work/header" || { echo "no function found in the public header"; exit 1; }
cd "$work"
diff -u header version-script
diff -u version-script library
echo "$(wc -l < header) names, the same in header, version script and library"
