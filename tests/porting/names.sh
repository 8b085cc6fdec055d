#!/usr/bin/env bash
# names.sh CHECKOUT CUDA_INCLUDE: no function of the runtime that takes a pool is forgotten.
#
# - streampool/cuda_compat.h replaces each function of the installed toolkit that names cudaMemPool_t or is called cudaMemPool..., and
#   each function that has a counterpart in streampool.h. It replaces nothing that the toolkit hasn't got.
# - In C++ a function whose stream 0 is the file's choice has another name in files with per-thread default streams.
# - docs/porting.md names each one, and its script for sed renames each one that has a counterpart.
set -eu
checkout=$1 cuda=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

none() {  # WHAT: fails for each line of the input
    while read -r name; do
        echo "$name: $1"
        failed=1
    done
}

# One declaration a line.
gcc -E -P -x c -include cuda_runtime.h -I"$cuda" /dev/null | tr '\n' ' ' | tr ';' '\n' > "$work/declarations"
grep -oE '\bcuda[A-Z][A-Za-z0-9]*\(' "$work/declarations" | tr -d '(' | sort -u > "$work/runtime"
grep -E 'cudaMemPool_t|cudaMemPool[A-Za-z]*\(' "$work/declarations" | grep -oE '\bcuda[A-Z][A-Za-z0-9]*\(' | tr -d '(' |
    sort -u > "$work/about_pools"
grep -oE '^#define cuda[A-Za-z]+' "$checkout/include/streampool/cuda_compat.h" | sed 's/#define //' | sort > "$work/replaced"

# The counterparts, but for texts, versions, and what an address is: of these each library has its own. poolPointerGetAttributes fills
# another struct, and a program that asks CUDA about a pointer goes on asking CUDA.
grep -oE '\bpool[A-Z][A-Za-z]*\(' "$checkout/include/streampool/streampool.h" | sed 's/^pool/cuda/; s/($//' | sort -u |
    grep -vE '^cuda(GetErrorName|GetErrorString|RuntimeGetVersion|DriverGetVersion|PointerGetAttributes)$' | comm -12 - "$work/runtime" > "$work/counterparts"

test "$(wc -l < "$work/about_pools")" -gt 10 || { echo "the toolkit's functions about pools were not found"; exit 1; }
none "takes a pool, and cuda_compat.h doesn't replace it" < <(comm -23 "$work/about_pools" "$work/replaced")
none "has a counterpart, and cuda_compat.h doesn't replace it" < <(comm -23 "$work/counterparts" "$work/replaced")
if grep -q cudaMemGetMemPool "$work/runtime"; then  # the newest functions that are replaced
    none "is replaced, and the toolkit hasn't got it" < <(comm -13 "$work/runtime" "$work/replaced")
fi

# Those are the functions that the runtime or this library has in two versions.
{
    grep -oE '^#define pool[A-Za-z]+ +pool[A-Za-z]+_ptsz' "$checkout/include/streampool/streampool.h" | sed -E 's/^#define pool([A-Za-z]+) .*/cuda\1/'
    gcc -E -dM -x c -DCUDA_API_PER_THREAD_DEFAULT_STREAM -include cuda_runtime.h -I"$cuda" /dev/null |
        sed -nE 's/^#define (cuda[A-Za-z]+) +__CUDART_API_PTSZ\(.*/\1/p'
} | sort -u | comm -12 - "$work/replaced" > "$work/versions"
grep -oE '^#define streampool_compat_[A-Za-z]+ +streampool_compat_[A-Za-z]+_ptsz' "$checkout/include/streampool/cuda_compat.h" |
    sed -E 's/^#define streampool_compat_([A-Za-z]+) .*/cuda\1/' | sort > "$work/renamed_versions"
test -s "$work/versions" || { echo "no functions with per-thread versions were found"; exit 1; }
none "depends on the default stream, and cuda_compat.h has one name for both" < <(comm -23 "$work/versions" "$work/renamed_versions")

grep -vE '^cudaMemPool' "$work/replaced" | while read -r name; do
    grep -q "\`$name\`" "$checkout/docs/porting.md" || echo "$name"
done > "$work/unnamed"
none "is replaced, and docs/porting.md doesn't say so" < "$work/unnamed"

sed 's/$/(1);/' "$work/counterparts" | grep -vE '^cuda(GetLastError|PeekAtLastError)\(' > "$work/calls.c"
bash "$here/rename.sh" "$work/renamed" "$work/calls.c"
none "isn't renamed by the script in docs/porting.md" < <(grep -E '^cuda' "$work/renamed/calls.c")

if [ "$failed" = 0 ]; then echo "$(wc -l < "$work/replaced") functions are replaced, $(wc -l < "$work/calls.c") are renamed"; fi
exit "$failed"
