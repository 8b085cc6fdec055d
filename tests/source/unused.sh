#!/usr/bin/env bash
# unused.sh CHECKOUT COMPILER...: the library has no function, and no variable, that only tests use.
#
# All of src/ and what stands in bench/ itself is compiled as it is released, but unoptimised and with each function on its own,
# and linked to one shared object. The programs in the folders of bench/ are left out: they use no more than the public headers,
# and some need CUDA's. The linker drops what is reached neither from a public function nor from one of the simulated driver, the
# program or the benches. A function whose address is taken is reached. It fails when a name with external linkage that
# src/library/ defines is dropped, or an inline function of its headers that is called by nothing that is kept. A function
# that is called only by one that is dropped is dropped, too.
#
# unused.txt, beside this script, lists names that stay all the same, each with a reason. A name that is listed and is used, or
# is gone, fails too.
set -euo pipefail
checkout=$1
shift
listed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/unused.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Outside of the library every function is exported, and so a root; each `main` has a name of its own. Without the attribute,
# functions that are always inlined are functions like others.
compile() { # WORK VISIBILITY FILE COMPILER...
    local name=${3//[\/.]/_} object=$1/${3//\//+}.o visibility=$2 file=$3
    shift 3
    "$@" -std=c11 -D_GNU_SOURCE -DNDEBUG -Dalways_inline= -Dmain="main_of_$name" \
        -DSP_BINDIR_TO_LIBDIR='""' -DSTREAMPOOL_BUILD='""' -Isrc -Isrc/library -Iinclude -w \
        -fPIC -fvisibility="$visibility" -O0 -ffunction-sections -fdata-sections -c "$file" -o "$object"
}
export -f compile

compile_all() { # VISIBILITY FOLDER COMPILER...
    local visibility=$1 folder=$2
    shift 2
    find "$folder" -name '*.c' -not -path 'bench/*/*' | xargs -P "$(nproc)" -I{} bash -c 'compile "$@"' compile "$work" "$visibility" {} "$@"
}

# One file with all headers has every inline function.
compile_headers() { # COMPILER...
    (cd src/library && ls -- */*.h) | sed 's/.*/#include "&"/' > "$work/headers.c"
    "$@" -std=c11 -D_GNU_SOURCE -DNDEBUG -Dalways_inline= -Isrc -Isrc/library -Iinclude -w \
        -fPIC -O0 -fkeep-inline-functions -c "$work/headers.c" -o "$work/headers"
}

# "NAME PLACE" for what the library defines; its inline functions begin with sp_, others in the same object are the system's.
defined() {
    (cd "$work" && nm -A --defined-only src+library+*.o) |
        awk '$2 ~ /^[TDBRC]$/ { sub(/\.o:.*/, "", $1); gsub(/\+/, "/", $1); print $3, $1 }'
    nm --defined-only "$work/headers" | awk '$2 == "t" && $3 ~ /^sp_/ { print $3, "a header" }'
}

check() {
    nm --defined-only "$work/linked" | awk '{ print $3 }' | sort -u > "$work/kept"
    defined | sort -u > "$work/defined"
    grep -vE '^(#|$)' "$listed" > "$work/lines" || true
    sed 's/:.*//' "$work/lines" | sort > "$work/listed"
    join -v1 "$work/defined" "$work/kept" | sort > "$work/dropped"
    join -v1 "$work/dropped" "$work/listed" | sed 's/^\([^ ]*\) \(.*\)/\1 (\2): nothing but tests uses it/'
    grep -vE '^[^ ]+: *[^ ]' "$work/lines" | sed 's/$/: no reason is given/' || true
    join -v2 "$work/dropped" "$work/listed" | sed 's/$/: is listed in unused.txt, and is used or gone/'
}

cd "$checkout"
for folder in src/library/*/; do
    compile_all hidden "${folder%/}" "$@"
done
for folder in src/simcuda src/beside src/mam src/copy src/swap src/cli bench; do
    compile_all default "$folder" "$@"
done
compile_headers "$@"
"$@" -shared -nostdlib -Wl,--gc-sections "$work"/*.o -o "$work/linked"
check > "$work/complaints"
test "$(wc -l < "$work/defined")" -gt 500 || { echo "the library's names are not found"; exit 1; }
if [ -s "$work/complaints" ]; then
    cat "$work/complaints"
    exit 1
fi
echo "$(wc -l < "$work/defined") names, $(wc -l < "$work/listed") of them for no one yet"
