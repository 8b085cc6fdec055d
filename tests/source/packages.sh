#!/usr/bin/env bash
# packages.sh CHECKOUT: what README.md tells people to install is what the scripts install.
#
# The first line with apt-get has the packages that src/package/prerequisites.txt lists for builds, the second those for tests, in that order.
# No package is listed twice, and the file has no rows but such that its readers understand.
set -eu
cd "$1"
. tests/packages.sh
failed=0

fail() {
    echo "$*"
    failed=1
}

listed() {  # WHO
    needs_of "$1" | awk '{ print $3 }' | xargs
}

told() {  # LINE
    sed -n 's/^apt-get install //p' README.md | sed -n "$1p"
}

compare() {  # LINE WHO
    test "$(listed "$2")" || fail "src/package/prerequisites.txt has no row for $2"
    diff -u --label "line $1 with apt-get in README.md" --label "$2 in src/package/prerequisites.txt" \
        <(told "$1") <(listed "$2") || fail "README.md and src/package/prerequisites.txt differ"
}

compare 1 build
compare 2 test
while read -r row; do
    fail "src/package/prerequisites.txt: not understood: $row"
done < <(grep -vE '^(#.*|(build|test|check) +(command|header|runtime) +[^ ]+ +[^ ]+)?$' src/package/prerequisites.txt)
while read -r package; do
    fail "src/package/prerequisites.txt lists $package twice"
done < <({ listed build; listed test; listed check; } | tr ' ' '\n' | sort | uniq -d)

if [ "$failed" = 0 ]; then echo "builds need $(listed build | wc -w) packages, tests $(listed test | wc -w) more"; fi
exit "$failed"
