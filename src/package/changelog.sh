#!/usr/bin/env bash
# changelog.sh CHANGELOG.md VERSION MAINTAINER: the same changes in the form of a Debian changelog.
#
# The first version must be VERSION. It may be unreleased ("## Unreleased: 0.2.0"); then its date is SOURCE_DATE_EPOCH, or
# now. Those before it have a date: "## 0.1.0 - 2026-11-30".
set -euo pipefail
file=$1 version=$2 maintainer=$3

first=$(sed -nE '/^## /{s/^## (Unreleased: )?\[?([0-9.]+).*/\2/p;q}' "$file")
if [ "$first" != "$version" ]; then
    echo "$file begins with version '$first', and this is version $version" >&2
    exit 1
fi

LC_ALL=C awk -v maintainer="$maintainer" -v now="@${SOURCE_DATE_EPOCH:-$(date +%s)}" '
    # Prints text in lines of at most 76 columns; all but the first begin like the text of an item.
    function print_wrapped(text, begin,    words, count, i, line) {
        count = split(text, words, " ")
        line = begin words[1]
        for (i = 2; i <= count; i++)
            if (length(line) + length(words[i]) < 76)
                line = line " " words[i]
            else {
                print line
                line = "    " words[i]
            }
        print line
    }
    function end_item() {
        if (item != "") print_wrapped(item, "  * ")
        item = ""
    }
    function end_version(    command, date) {
        end_item()
        if (version == "") return
        command = "date -u -R -d " day
        if ((command | getline date) <= 0) exit 1
        close(command)
        printf "\n -- %s  %s\n\n", maintainer, date
    }
    /^## / {
        end_version()
        day = match($0, /[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]/) ? substr($0, RSTART, RLENGTH) : now
        sub(/^## (Unreleased: )?\[?/, "")
        match($0, /^[0-9.]+/)
        version = substr($0, 1, RLENGTH)
        printf "streampool (%s) unstable; urgency=medium\n\n", version
        headings = 0
        next
    }
    version == "" { next }
    /^### / {
        end_item()
        if (headings++) print ""
        print "  " substr($0, 5) ":"
        next
    }
    /^- / { end_item(); item = substr($0, 3); next }
    /^ / && item != "" { item = item " " $0; next }
    { end_item() }
    END { end_version() }' "$file"
