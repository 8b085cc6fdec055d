#!/usr/bin/env bash
# counts.sh CHECKOUT: how large the library, the program, the simulated driver and the documents are, by CONTRIBUTING.md ("How large it is").
#
# Each row of that table is a figure and its limit. It fails when a figure is above its limit: then the change is to be made
# smaller, or the limit is raised, which a reader of the change sees. It fails, too, when a figure is more than a twentieth below:
# what has become smaller is to stay so.
set -euo pipefail
cd "$1"

# Of the files on standard input: "NAME LINES CALLERS" for each function, as clang-format lays it out. CALLERS is how often the
# name of a static function stands in its file but for the definition and declarations; of others it is -.
functions() {
    xargs awk '
        function end_file(   i, j, name, rest, count) {
            for (i = 1; i <= defined; i++) {
                name = names[i]; count = "-"
                if (static[i]) {
                    count = 0
                    for (j = 1; j <= lines; j++) {
                        if (j == heads[i] || line[j] ~ ("^static[^=]*[ *]" name "\\(")) continue
                        rest = line[j]
                        while (match(rest, "(^|[^A-Za-z0-9_])" name "($|[^A-Za-z0-9_])")) {
                            count++; rest = substr(rest, RSTART + RLENGTH - 1)
                        }
                    }
                }
                print name, lengths[i], count
            }
            lines = defined = 0; head = 0
        }
        FNR == 1 { end_file() }
        { text = $0; sub(/\/\/.*/, "", text); line[++lines] = text }
        head == 0 && /^[A-Za-z_]/ { head = lines; opened = 0 }
        head > 0 {
            opened += gsub(/\{/, "{", text) - gsub(/\}/, "}", text)
            if (/^\}/ || (opened == 0 && text ~ /(^|[;}]) *$/)) {
                if ($0 == "}" && match(line[head], /[a-z][A-Za-z0-9_]*\(/)) {
                    names[++defined] = substr(line[head], RSTART, RLENGTH - 1)
                    heads[defined] = head
                    lengths[defined] = lines - head + 1
                    static[defined] = line[head] ~ /^static / && FILENAME ~ /\.c$/
                }
                head = 0
            }
        }
        END { end_file() }'
}

quantile() {  # HUNDREDTHS, of the numbers on standard input
    sort -n | awk -v part="$1" '{ of[NR] = $1 } END { print of[int((NR - 1) * part / 100) + 1] }'
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find src/library -name '*.[ch]' | sort > "$work/files"
functions < "$work/files" > "$work/functions"
cut -d' ' -f2 "$work/functions" > "$work/lengths"
{
    echo "lines of the library|$(xargs cat < "$work/files" | wc -l)"
    echo "its files|$(wc -l < "$work/files")"
    echo "its functions|$(wc -l < "$work/functions")"
    echo "lines of a function, median|$(quantile 50 < "$work/lengths")"
    echo "lines of a function, ninth decile|$(quantile 90 < "$work/lengths")"
    echo "lines of the longest function|$(quantile 100 < "$work/lengths")"
    echo "static functions with one caller|$(grep -c ' 1$' "$work/functions")"
    echo "lines of the program|$(find src/cli -name '*.[ch]' -print0 -o -name '*.py' -print0 | xargs -0 cat | wc -l)"
    echo "lines of the simulated driver|$(find src/simcuda -name '*.[ch]' -print0 | xargs -0 cat | wc -l)"
    echo "words that this page defines|$(sed -n '/^## Words/,/^## A block.s life/p' docs/design.md | grep '^| ' | sed 1,2d | wc -l)"
    echo "words of all documents but benchmarks.md|$(find README.md CONTRIBUTING.md docs -name "*.md" -not -name benchmarks.md -print0 | xargs -0 cat | wc -w)"
    echo "mutants kept by hand|$(cat tests/mutants/planted/*.txt | grep -c '^[0-9]')"
} > "$work/counted"

limit_of() {  # FIGURE
    sed -n "/^## How large it is/,/^## /s/^| $1 | \([0-9,]*\) |\$/\1/p" CONTRIBUTING.md | tr -d ,
}

failed=0
while IFS='|' read -r figure counted; do
    limit=$(limit_of "$figure")
    printf '%-36s %7d of %s\n' "$figure" "$counted" "${limit:-nothing}"
    if [ -z "$limit" ]; then
        echo "  CONTRIBUTING.md has no row for it"
        failed=1
    elif [ "$counted" -gt "$limit" ]; then
        echo "  is above its limit in CONTRIBUTING.md"
        failed=1
    elif [ $((counted * 20)) -lt $((limit * 19)) ]; then
        echo "  is far below its limit in CONTRIBUTING.md: lower that"
        failed=1
    fi
done < "$work/counted"
exit "$failed"
