#!/usr/bin/env bash
# names.sh CHECKOUT: the name of each function that a header of the library declares or defines begins with sp_ and the
# header's own name, so that a reader who meets a call knows the file.
#
# names.txt, beside this script, lists headers with other beginnings, with a reason. A line that nothing needs is a mistake in it.
set -euo pipefail
checkout=$1
listed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/names.txt

cd "$checkout/src/library"
awk -v listed="$listed" '
    BEGIN {
        while ((getline line < listed) > 0) {
            if (line ~ /^#/ || line == "")
                continue
            split(line, sides, ": ")
            count = split(sides[1], words, " ")
            for (i = 2; i <= count; i++) {
                others[words[1], i - 1] = words[i]
                needed[words[1] " " words[i]] = 1
            }
            other_count[words[1]] = count - 1
        }
    }
    function begins(name, prefix) {
        return name == prefix || index(name, prefix "_") == 1
    }
    function is_named(name, header,   base, i) {
        base = header
        sub(/.*\//, "", base)
        sub(/\.h$/, "", base)
        if (begins(name, "sp_" base))
            return 1
        for (i = 1; i <= other_count[header]; i++) {
            if (begins(name, others[header, i])) {
                delete needed[header " " others[header, i]]
                return 1
            }
        }
        return 0
    }
    # A declaration or a definition stands at the begin of a line; the name may stand on the next one.
    /^[a-z_A-Z].*[ *]sp_[a-z0-9_]+\(/ && !/^typedef|^#/ {
        match($0, /[ *]sp_[a-z0-9_]+\(/)
        name = substr($0, RSTART + 1, RLENGTH - 2)
        functions++
        if (!is_named(name, FILENAME)) {
            print FILENAME ": " name
            wrong++
        }
    }
    END {
        for (line in needed) {
            print "names.txt: nothing needs " line
            wrong++
        }
        if (functions < 100) {
            print "only " functions + 0 " functions found"
            wrong++
        }
        if (wrong)
            exit 1
        print functions " functions are named after their headers"
    }
' */*.h
