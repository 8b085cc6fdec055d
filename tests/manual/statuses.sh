#!/usr/bin/env bash
# statuses.sh CHECKOUT: no man page has a row of a table as Markdown has it. Under EXIT STATUS a command's page has each status
# once, in order, and says something of --device if the command has this option, and only then.
set -eu
cd "$1/docs/man"

failed=0
fail() { # MESSAGE
    echo "$1"
    failed=1
}

# Code stands between .nf and .fi, and may have such marks of its own.
awk '
    FNR == 1 || /^\.fi/ { is_code = 0 }
    /^\.nf/ { is_code = 1 }
    !is_code && / [|] |---/ { print FILENAME ":" FNR ": " $0; found = 1 }
    END { exit found }
' ./*.[1-9] || fail "these lines are rows of a table in Markdown"

part() { # PAGE TITLE: the lines of the section
    awk -v title="$2" '/^\.SH / { here = $0 == ".SH " title; next } here' "$1"
}

count=0
for page in streampool-*.1; do
    count=$((count + 1))
    statuses=$(part "$page" 'EXIT STATUS' | sed -nE 's/^\.B ([0-9].*)/\1/p')
    if [ "$statuses" != "$(sort -nu <<< "$statuses")" ] || grep -qvE '^[0-9]+$' <<< "$statuses" ||
        [ "$(head -n 1 <<< "$statuses")" != 0 ]; then
        fail "$page: these are not a command's statuses: ${statuses//$'\n'/, }"
    fi
    has=$(part "$page" OPTIONS | grep -cE '\\-\\-device(\\fR| )' || true)
    says=$(part "$page" 'EXIT STATUS' | grep -cE '\\-\\-device(\\fR| )' || true)
    if [ $((has > 0)) != $((says > 0)) ]; then
        fail "$page: EXIT STATUS says $says times something of --device, which stands $has times under OPTIONS"
    fi
done
if [ "$count" = 0 ]; then fail "there is no page of a command"; fi
exit "$failed"
