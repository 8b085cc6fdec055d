#!/usr/bin/env bash
# words.sh CHECKOUT: one word, one meaning. No identifier of the library has a part that words.txt, beside this script, has done
# away with; nor, outside the modules that it names, one whose second meaning went. A row there that nothing needs is a mistake in
# it. How many words docs/design.md defines is a figure of counts.sh.
set -euo pipefail
checkout=$1
listed=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/words.txt

cd "$checkout/src/library"
awk -v listed="$listed" '
    BEGIN {
        while ((getline line < listed) > 0) {
            if (line ~ /^#/ || line == "")
                continue
            if (!match(line, /^[a-z_, ]+( in [a-z_ ]+)?: /)) {
                print "words.txt: not understood: " line
                wrong++
                continue
            }
            reason = substr(line, RLENGTH + 1)
            split(substr(line, 1, RLENGTH - 2), sides, " in ")
            count = split(sides[1], words, ", ")
            modules = split(sides[2], where, " ")
            for (i = 1; i <= count; i++) {
                reasons[words[i]] = reason
                for (j = 1; j <= modules; j++)
                    may[words[i], where[j]] = 1
            }
            for (j = 1; j <= modules; j++)
                needed[where[j], sides[1]] = 1
        }
    }
    FNR == 1 {
        module = FILENAME
        sub(/.*\//, "", module)
        sub(/\.[ch]$/, "", module)
    }
    {
        gsub(/"([^"\\]|\\.)*"/, "")
        sub(/\/\/.*/, "")
        while (match($0, /[A-Za-z_][A-Za-z0-9_]*/)) {
            name = substr($0, RSTART, RLENGTH)
            $0 = substr($0, RSTART + RLENGTH)
            if ((module, name) in seen)
                continue
            seen[module, name] = 1
            parts = "_" tolower(name) "_"
            names++
            for (word in reasons) {
                if (!index(parts, "_" word "_"))
                    continue
                if ((word, module) in may)
                    used[module, word] = 1
                else {
                    print FILENAME ": " name ": " word ": " reasons[word]
                    wrong++
                }
            }
        }
    }
    END {
        for (row in needed) {
            split(row, sides, SUBSEP)
            count = split(sides[2], words, ", ")
            for (i = 1; i <= count && !((sides[1], words[i]) in used); i++)
                ;
            if (i > count) {
                print "words.txt: " sides[1] " needs none of: " sides[2]
                wrong++
            }
        }
        if (names < 5000) {
            print "only " names + 0 " names found"
            wrong++
        }
        if (wrong)
            exit 1
        print names " names have no word that went, or whose meaning there went"
    }
' */*.[ch]
