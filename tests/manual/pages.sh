#!/usr/bin/env bash
# pages.sh CHECKOUT PROGRAM: the man pages are those that docs/man/make.sh makes.
set -eu
cd "$1"
program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/committed" "$work/made"
cp docs/man/*.[1-9] "$work/committed"
bash docs/man/make.sh "$program" "$work/made"
if ! diff -ru "$work/committed" "$work/made"; then
    echo "The pages of docs/man aren't those that would be made now: cmake --build BUILD --target man-pages"
    exit 1
fi
echo "$(ls "$work/made" | wc -l) pages are as they would be made"
