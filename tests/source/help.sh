#!/usr/bin/env bash
# help.sh CHECKOUT: each script whose opening comment shows how to call it shows this comment with --help, and refuses an option that
# it hasn't got with a line of usage. Neither installs, configures nor builds anything before.
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# What scripts do their work with, none of which is called.
mkdir "$work/tools"
for tool in apt-get sudo cmake ctest ninja make gcc c++ clang debootstrap pip3 cpack gcov flock; do
    printf '#!/bin/sh\necho "%s $*" >> "%s"\nexit 1\n' "$tool" "$work/called" > "$work/tools/$tool"
    chmod +x "$work/tools/$tool"
done

fail() {
    echo "$1"
    cat "$work/output" "$work/errors" "$work/called" 2> /dev/null || true
    failed=1
}

call() {  # SCRIPT ARGUMENT...
    rm -f "$work/called"
    status=0
    PATH=$work/tools:$PATH bash "$@" > "$work/output" 2> "$work/errors" < /dev/null || status=$?
    if [ -e "$work/called" ]; then fail "$*: does something before"; fi
}

shows_help() {  # SCRIPT ARGUMENT...
    call "$@"
    if [ "$status" != 0 ] || [ -s "$work/errors" ]; then fail "$*: ends with status $status"; fi
    grep -q "^ *bash $1" "$work/output" || fail "$*: doesn't say how it is called"
    if grep -q '^#' "$work/output"; then fail "$*: shows more than its comment"; fi
}

refuses() {  # SCRIPT ARGUMENT...
    call "$@"
    if [ "$status" = 0 ] || [ -s "$work/output" ]; then fail "$*: ends with status $status"; fi
    grep -q "usage: bash $1" "$work/errors" || fail "$*: shows no usage"
}

count=0
while read -r script; do
    count=$((count + 1))
    shows_help "$script" --help
    shows_help "$script" -h
    shows_help "$script" --no-install --help
    shows_help "$script" something -h
    refuses "$script" --no-such-option
    refuses "$script" --no-install --no-such-option
done < <(grep -rlE --include='*.sh' '^#   bash ' bench docs src tests)
if [ "$count" -lt 10 ]; then fail "only $count scripts show how they are called"; fi
echo "$count scripts"
exit "$failed"
