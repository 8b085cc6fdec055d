#!/usr/bin/env bash
# needs.sh VERSION FOLDER: no ELF file under the folder needs a newer glibc than VERSION, nor another library than glibc's and
# those under the folder. Prints each file that does, and the symbol or the library.
#
# A symbol with a version of glibc is there from that version on: "log@GLIBC_2.29" isn't in 2.28. A version in words
# (GLIBC_PRIVATE, GLIBC_ABI_DT_RELR) is for one glibc alone, or newer than any that is asked for here.
set -euo pipefail
export LC_ALL=C
glibc="ld-linux-x86-64.so.2 libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1"

is_elf() { [ "$(head -c 4 "$1" | od -An -tx1 | tr -d ' \n')" = 7f454c46 ]; }

# Words count as newer than numbers, as sort has it.
is_newer() {  # VERSION LIMIT
    [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -1)" = "$1" ]
}

# The versions that a file asks of other libraries: "GLIBC_2.14". Those that it defines itself stand in another section.
versions_needed() {
    readelf -W --version-info "$1" |
        awk '/^Version needs section/ { needs = 1 } /^Version definition section/ { needs = 0 }
             needs && match($0, /Name: GLIBC_[^ ]+/) { print substr($0, RSTART + 6, RLENGTH - 6) }' | sort -u
}

symbols_of() {  # FILE VERSION
    readelf -W --dyn-syms "$1" | awk -v version="$2" '$7 == "UND" {
        split($8, parts, "@+"); if (parts[2] == version) printf " %s", parts[1] }'
}

check_versions() {  # FILE
    local version number symbols
    for version in $(versions_needed "$1"); do
        number=${version#GLIBC_}
        if ! is_newer "$number" "$limit"; then continue; fi
        symbols=$(symbols_of "$1" "$version")
        echo "$1 needs $version, which glibc $limit hasn't:${symbols:- no symbol, but the file as a whole}"
        bad=1
    done
}

check_libraries() {  # FILE
    local library
    for library in $(readelf -W --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p'); do
        if [[ " $glibc " = *" $library "* ]]; then continue; fi
        if [ -n "$(find "$folder" -name "$library" -print -quit)" ]; then continue; fi
        echo "$1 needs the library $library"
        bad=1
    done
}

limit=$1 folder=$2 bad=0 count=0
while IFS= read -r -d '' file; do
    if ! is_elf "$file"; then continue; fi
    count=$((count + 1))
    check_versions "$file"
    check_libraries "$file"
done < <(find "$folder" -type f -print0 | sort -z)

if [ "$count" = 0 ]; then echo "no ELF file under $folder"; exit 1; fi
echo "$count ELF files looked at, for glibc $limit"
exit "$bad"
