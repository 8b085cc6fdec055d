#!/usr/bin/env bash
# packages.sh CHECKOUT: what README.md and docs/install.md tell people to install is what the scripts install.
#
# The first line with apt-get has the packages that src/package/prerequisites.txt lists for builds, the second one of docs/install.md
# those for tests, in that order.
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

told() {  # PAGE LINE
    sed -n 's/^apt-get install //p' "$1" | sed -n "$2p"
}

compare() {  # PAGE LINE WHO
    test "$(listed "$3")" || fail "src/package/prerequisites.txt has no row for $3"
    diff -u --label "line $2 with apt-get in $1" --label "$3 in src/package/prerequisites.txt" \
        <(told "$1" "$2") <(listed "$3") || fail "$1 and src/package/prerequisites.txt differ"
}

compare README.md 1 build
compare docs/install.md 1 build
compare docs/install.md 2 test
while read -r row; do
    fail "src/package/prerequisites.txt: not understood: $row"
done < <(grep -vE '^(#.*|(build|test|check) +(command|header|runtime) +[^ ]+ +[^ ]+)?$' src/package/prerequisites.txt)
while read -r package; do
    fail "src/package/prerequisites.txt lists $package twice"
done < <({ listed build; listed test; listed check; } | tr ' ' '\n' | sort | uniq -d)

if [ "$failed" = 0 ]; then echo "builds need $(listed build | wc -w) packages, tests $(listed test | wc -w) more"; fi
exit "$failed"
