#!/usr/bin/env bash
# comments.sh CHECKOUT:        no folder of src/ and include/ has more of what a stranger stumbles over than comments.txt allows it.
# comments.sh CHECKOUT FOLDER: prints what there is in that folder.
#
# Counted are comments whose first words leave the reader without a subject, and lines of more than a hundred columns. Lines that
# follow each other are one comment; so is what stands behind code. A row of a list that is a macro, "    X(...) \", may be
# longer.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$1"
export LC_ALL=C.UTF-8

# "FILE:LINE: KIND: TEXT" of the C files, device code and C++ headers of some folders and those below. Columns are
# characters, not bytes.
found() { # FOLDER...
    local words='(The same|What|Whether|Of|One|Who)'
    find "$@" \( -name '*.[ch]' -o -name '*.cuh' -o -name '*.hpp' \) -print0 | sort -z > "$work/files"
    xargs -0 awk -v begin="^// *$words([^A-Za-z0-9_-]|\$)" '
        FNR == 1 { inside = 0 }
        {
            text = $0; sub(/^[ \t]+/, "", text)
            whole = text ~ /^\/\//
            if (!whole) { at = index(text, " // "); text = at ? substr(text, at + 1) : "" }
            if (text ~ begin && !(whole && inside)) print FILENAME ":" FNR ": comment: " text
            inside = whole
        }' < "$work/files"
    xargs -0 grep -HnE '^.{101,}$' < "$work/files" | grep -vE '^[^:]*:[0-9]+: {4}X\(' |
        sed -E 's/^([^:]*:[0-9]+:)/\1 long line: /' || true
}

# One line for each folder with C files: "FOLDER COMMENTS LINES".
counts() {
    found src include > "$work/found"
    find src include \( -name '*.[ch]' -o -name '*.cuh' \) | sed 's|/[^/]*$||' | sort -u > "$work/folders"
    awk '
        NR == FNR { folder[++count] = $1; next }
        { file = $1; sub(/\/[^\/]*$/, "", file); number[file, $2]++ }
        END { for (i = 1; i <= count; i++) print folder[i], number[folder[i], "comment:"] + 0, number[folder[i], "long"] + 0 }
    ' "$work/folders" "$work/found"
}

# A folder that is not listed is allowed none. One that has none, or is gone, is not to be listed.
check() {
    counts > "$work/counts"
    sed 's/#.*//' "$here/comments.txt" | awk 'NF > 0' > "$work/allowed"
    awk '
        FILENAME ~ /allowed$/ {
            if (NF != 3 || $2 $3 !~ /^[0-9]+$/) print "comments.txt: \"" $0 "\" is no FOLDER COMMENTS LINES"
            listed[$1]; comments[$1] = $2; lines[$1] = $3; next
        }
        {
            if ($2 > comments[$1] + 0) print $1 ": " $2 " comments begin without a subject, " comments[$1] + 0 " are allowed"
            if ($3 > lines[$1] + 0) print $1 ": " $3 " lines of more than 100 columns, " lines[$1] + 0 " are allowed"
            if ($2 + $3 > 0) has[$1]
        }
        END { for (folder in listed) if (!(folder in has)) print folder ": has none any more, and is listed in comments.txt" }
    ' "$work/allowed" "$work/counts"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# = 2 ]; then
    found "$2"
    exit
fi
check > "$work/complaints"
if [ -s "$work/complaints" ]; then
    cat "$work/complaints"
    echo "bash tests/source/comments.sh . FOLDER prints them"
    exit 1
fi
awk '{ comments += $2; lines += $3 } END { print comments " comments and " lines " lines, as many as are allowed" }' "$work/counts"
