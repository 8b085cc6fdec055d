#!/usr/bin/env bash
# layers.sh CHECKOUT: each file of src/ includes what layers.txt, beside this script, allows its folder to include, and calls
# the driver if its folder may.
#
# A layer is a folder of src/library/, a product beside it in src/, or a folder of the program in src/cli/ or of the simulated
# driver, which is called "cli/FOLDER" or "simcuda/FOLDER". An include in quotes names a path from src/ or src/library/. The system's headers are free to all, but not those of a CUDA
# toolkit. A public header includes no file by quotes, but for device code, whose files lie side by side.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"

# For awk: the layer of a path from src/ or src/library/.
layer_of='
    function layer_of(path) {
        if (path ~ /^(cli|simcuda)\/[a-z]+$/) return path
        if (path ~ /^(cli|simcuda)\/[a-z]+\//) { match(path, /^[a-z]+\/[a-z]+/); return substr(path, 1, RLENGTH) }
        sub(/\/.*/, "", path)
        return path
    }'

# The list, with a line for each folder.
rows() {
    sed 's/#.*//' "$here/layers.txt" | awk '
        NF == 0 { next }
        /^[^ \t]/ && row != "" { print row; row = "" }
        { row = row == "" ? $0 : row " " $0 }
        END { if (row != "") print row }' | sed 's/[ \t][ \t]*/ /g'
}

folders() {
    find src src/library src/cli src/simcuda -mindepth 1 -maxdepth 1 -type d ! -path src/library |
        sed 's|^src/library/||; s|^src/||' | sort -u
}

check_list() {
    rows | sed 's/:.*//' | sort > "$work/listed"
    folders > "$work/folders"
    uniq -d "$work/listed" | sed 's/$/: stands twice in layers.txt/'
    comm -13 "$work/folders" "$work/listed" | sed 's/$/: a folder in layers.txt that is not in src\/ or src\/library\//'
    comm -23 "$work/folders" "$work/listed" | sed 's/$/: a folder of src\/ that layers.txt does not list/'
    rows | awk "$layer_of"'{
        own = $1; sub(/:$/, "", own)
        for (i = 2; i <= NF; i++) {
            folder = layer_of($i)
            if ($i != "sp_driver->" && folder != "streampool" && !(folder in above))
                print own ": " $i " does not stand above it in layers.txt"
        }
        above[own] }'
}

# Includes and calls of the driver: "FILE:LINE FOLDER TARGET", where TARGET is what layers.txt has to allow.
uses() {
    find src -name '*.[ch]' -print0 | sort -z | xargs -0 awk "$layer_of"'
        FNR == 1 { own = FILENAME; sub(/^src\/(library\/)?/, "", own); own = layer_of(own) }
        /sp_driver->/ { print FILENAME ":" FNR, own, "sp_driver->" }
        !/^[ \t]*#[ \t]*include/ { next }
        /"/ { target = $0; sub(/^[^"]*"/, "", target); sub(/".*/, "", target); print FILENAME ":" FNR, own, target }
        /<(streampool\/|cuda|driver_types|vector_types)/ {
            target = $0; sub(/^[^<]*</, "", target); sub(/>.*/, "", target)
            print FILENAME ":" FNR, own, (target ~ /^streampool/ ? "" : "CUDA-toolkit/") target
        }'
}

check_uses() {
    rows > "$work/rows"
    uses | awk "$layer_of"'
        NR == FNR { own = $1; sub(/:$/, "", own); for (i = 2; i <= NF; i++) allowed[own, $i]; next }
        {
            folder = layer_of($3)
            if ($3 ~ /\/\./ || $3 !~ /\//) { if ($3 != "sp_driver->") { print $1 ": \"" $3 "\" is no path from src/ or src/library/"; next } }
            if (folder == $2 && $3 != "sp_driver->") next
            if (($2, $3) in allowed) used[$2, $3]
            else if (($2, folder) in allowed) used[$2, folder]
            else print $1 ": " $2 " may not " ($3 == "sp_driver->" ? "call the driver" : "include " $3)
        }
        END {
            for (pair in allowed) if (!(pair in used)) {
                split(pair, names, SUBSEP)
                print names[1] ": " names[2] " stands in layers.txt and is not used"
            }
        }' "$work/rows" -
}

check_public_headers() {
    grep -rn --include='*.h' --include='*.hpp' '^[ \t]*#[ \t]*include[ \t]*"' include |
        sed 's/$/: a public header includes a file by quotes: only system headers can be relied on there/' || true
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    check_list
    check_uses
    check_public_headers
} > "$work/complaints"
if [ -s "$work/complaints" ]; then
    cat "$work/complaints"
    exit 1
fi
echo "$(uses | wc -l) includes and calls of the driver, all of them allowed by layers.txt"
