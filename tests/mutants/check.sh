#!/usr/bin/env bash
# check.sh CHECKOUT COMPILER...: every mutant can be built. Each patch beside this script has a number of its own, says
# in its first line what is wrong, applies to the sources as they are, and what it has changed compiles without a warning.
set -eu
checkout=$1
shift

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A header is compiled with the files that include it by name, or, where none does, with all of the library.
touched() { # PATCH, in the patched copy
    local file
    while read -r file; do
        case $file in
            *.c) echo "$file" ;;
            include/streampool/heap*) ls src/devheap/*.c ;;
            *) grep -lF "\"${file#src/library/}\"" src/library/*/*.c || ls src/library/*/*.c ;;
        esac
    done < <(sed -n 's|^+++ b/\([^[:space:]]*\).*|\1|p' "$1")
}

# Prints nothing when all is well. A mistake may leave a function or a parameter without a use.
check_patch() { # CHECKOUT WORK PATCH COMPILER...
    local checkout=$1 patch=$3 copy
    copy=$2/$(basename "$3" .patch)
    shift 3
    case $(head -n 1 "$patch") in
        '' | 'caught by:'* | 'diff '* | '--- '*) echo "$patch: the first line doesn't say what is wrong" ;;
    esac
    mkdir "$copy"
    cp -r "$checkout/src" "$checkout/include" "$copy"
    cd "$copy"
    if ! patch -p1 --fuzz=0 --forward --reject-file=- < "$patch" > output 2>&1; then
        cat output
        echo "$patch doesn't apply"
    elif ! "$@" -std=c11 -D_GNU_SOURCE -Isrc -Isrc/library -Iinclude -fsyntax-only -Wall -Wextra -Werror \
        -Wno-unused-function -Wno-unused-parameter $(touched "$patch") > output 2>&1; then
        cat output
        echo "$patch doesn't compile"
    fi
    cd /
    rm -rf "$copy"
}
export -f touched check_patch

shopt -s nullglob
patches=("$checkout"/tests/mutants/[0-9][0-9]{,[0-9]}_*.patch)
test "${#patches[@]}" -gt 0 || { echo "no patch found"; exit 1; }
{
    find "$checkout/tests/mutants" -name '*.patch' ! -name '[0-9][0-9]_[A-Z]*.patch' \
        ! -name '[0-9][0-9][0-9]_[A-Z]*.patch' -printf '%f: not NN_Name.patch or NNN_Name.patch\n'
    printf '%s\n' "${patches[@]##*/}" | sed 's/_.*//; s/^0*//' | sort -n | uniq -d |
        sed 's/.*/& is the number of several patches/'
    printf '%s\0' "${patches[@]}" |
        xargs -0 -P "$(nproc)" -I{} bash -c 'check_patch "$@"' check "$checkout" "$work" {} "$@"
} > "$work/found"
if [ -s "$work/found" ]; then
    cat "$work/found"
    exit 1
fi
echo "${#patches[@]} mutants apply and compile"
