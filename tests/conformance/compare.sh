#!/usr/bin/env bash
# compare.sh [--skips] EXPECTED ACTUAL
#
# Compares two outputs of streampool-conformance row by row. Fails, and says why, when a row is missing, is in one of
# them only, stands elsewhere, differs, or is not ok: a skipped row counts as failed. With --skips a row may be skipped
# that is skipped in both, for the same reason.
set -euo pipefail

skips=0
if [[ ${1-} == --skips ]]; then
    skips=1
    shift
fi

if (($# != 2)) || [[ ! -r $1 || ! -r $2 ]]; then
    echo "usage: compare.sh [--skips] EXPECTED ACTUAL (two files)" >&2
    exit 2
fi

awk -v expected="$1" -v actual="$2" -v skips=$skips '
    function complain(text) {
        print text
        problems++
    }
    function is_summary(line) {
        return line ~ /^[0-9]+ rows: /
    }
    FNR == 1 {
        file++
    }
    {
        summaries[file] += is_summary($0)
    }
    is_summary($0) {
        next
    }
    file == 1 {
        wanted[$1] = $0
        order[++rows] = $1
        next
    }
    {
        seen[$1] = $0
        if (!($1 in wanted))
            complain("only in " actual ": " $0)
        else if ($0 != wanted[$1])
            complain("differs: " $0 " (" expected ": " wanted[$1] ")")
        else if ($0 != $1 " ok" && !(skips && $2 == "skip"))
            complain("not ok: " $0)
        else if (order[++place] != $1)
            complain("in another place: " $1)
    }
    END {
        for (i = 1; i <= rows; i++) {
            if (!(order[i] in seen))
                complain("missing: " order[i])
        }
        if (rows == 0)
            complain("no rows in " expected)
        if (summaries[1] != 1 || summaries[2] != 1)
            complain("not exactly one summary in each file: one of the runs did not end")
        if (problems)
            exit 1
        print rows " rows agree"
    }
' "$1" "$2"
