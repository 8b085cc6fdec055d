#!/usr/bin/env bash
# links.sh ROOT FOLDER...: each link in the Markdown files of ROOT, and of the folders in it, leads to a file in ROOT, and to a
# heading of it where the link names one. Addresses of other places are not followed. tests/install asks this of installed pages.
set -euo pipefail
cd "$1"
shift
export LC_ALL=C.UTF-8 # a heading's letters are not bytes

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A page with @ref in a link is written for Doxygen, which looks at its links in a way of its own.
pages() { # FOLDER...
    {
        find . -maxdepth 1 -name '*.md' -printf '%P\n'
        for folder; do find "$folder" -name '*.md'; done
    } | while read -r page; do
        grep -q '](@ref ' "$page" || echo "$page"
    done
}

# A page without what stands in blocks of code, its lines numbered by grep -n later.
prose() { # PAGE
    awk '/^ *```/ { inside = !inside; print ""; next } { print inside ? "" : $0 }' "$1"
}

# "PAGE#ANCHOR" of each heading: its text in lower case without punctuation, and with hyphens for spaces. A number stands behind a
# heading that was there before.
anchors() { # PAGE
    prose "$1" | sed -nE 's/^#+ +//p' |
        sed -E -e 's/\[([^]]*)\]\([^)]*\)/\1/g' -e 's/.*/\L&/' -e 's/[^[:alnum:] _-]//g' -e 's/ /-/g' |
        awk -v page="$1" '{ print page "#" $0 (seen[$0] ? "-" seen[$0] : ""); seen[$0]++ }'
}

# "PAGE:LINE TARGET", the target as a path from ROOT, or with ".." at its beginning where it is outside.
links() { # PAGE
    prose "$1" | sed -E 's/`[^`]*`//g' | { grep -noE '\]\([^)]*\)|(src|href)="[^"]*"' || true; } |
        sed -E -e 's/^([0-9]+):\]\(([^ )]*).*/\1 \2/' -e 's/^([0-9]+):[a-z]+="([^"]*)"/\1 \2/' |
        awk -v page="$1" '
            $2 ~ /^[a-z]+:/ { next }
            {
                anchor = path = $2
                if (!sub(/^[^#]*#/, "#", anchor)) anchor = ""
                sub(/#.*/, "", path)
                folder = page
                if (!sub(/\/[^\/]*$/, "", folder)) folder = ""
                path = path == "" ? page : folder "/" path
                count = split(path, part, "/")
                depth = 0
                for (i = 1; i <= count; i++) {
                    if (part[i] == "" || part[i] == ".") continue
                    if (part[i] == ".." && depth > 0 && kept[depth] != "..") depth--
                    else kept[++depth] = part[i]
                }
                path = kept[1]
                for (i = 2; i <= depth; i++) path = path "/" kept[i]
                print page ":" $1, path anchor
            }'
}

pages "$@" | sort > "$work/pages"
while read -r page; do
    anchors "$page" >> "$work/anchors"
    links "$page" >> "$work/links"
done < "$work/pages"

failed=0
while read -r place target; do
    file=${target%%#*}
    if [[ $file = ..* ]]; then
        echo "$place: $file is outside"
        failed=1
    elif [ ! -e "$file" ]; then
        echo "$place: there is no $file"
        failed=1
    elif [ "$target" != "$file" ] && ! grep -qxF -e "$target" "$work/anchors"; then
        echo "$place: $file has no heading ${target#*#}"
        failed=1
    fi
done < "$work/links"
if [ "$failed" = 0 ]; then
    echo "$(wc -l < "$work/links") links of $(wc -l < "$work/pages") pages lead somewhere"
fi
exit "$failed"
