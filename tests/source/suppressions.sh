#!/usr/bin/env bash
# suppressions.sh CHECKOUT: each function that tests/leaks.supp or tests/races.supp names by our prefix is one of the library or of the
# simulated driver. A name that is gone suppresses nothing, and without a sanitizer nobody would see it.
set -eu
cd "$1"

names=$(sed -nE 's/^[a-z_]+:(sp_[a-z0-9_]+|simcuda[A-Za-z0-9]+)$/\1/p' tests/leaks.supp tests/races.supp)
test -n "$names" || { echo "no function of ours is named in tests/*.supp"; exit 1; }
for name in $names; do
    if ! grep -rqE "^[a-z].*\b$name\(" src --include='*.c'; then
        echo "tests/*.supp names $name, which is no function of src/"
        exit 1
    fi
done
echo "the functions that the suppressions name are there"
