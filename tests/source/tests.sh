#!/usr/bin/env bash
# tests.sh CHECKOUT BUILD CTEST: tests/unit/ mirrors the library. Each module, which is a .c file, or a header of inline
# functions that has none, has a test: a file tests/unit/FOLDER/MODULE_test.c or MODULE_WHAT_test.c. Where another test is enough
# tests/unit/covered.txt says which; a line there that nothing needs is a mistake in it. CTEST lists the tests of BUILD.
#
# The other way round each file of tests there begins with the name of a module. Only folders of tests beside the library's
# are free: those of the other products in src/, and `whole`, of what no one module does.
set -euo pipefail
checkout=$1 build=$2 ctest=$3
covered=tests/unit/covered.txt
complaints=0
declare -A named needing tested listed test_of_ctest

complain() {
    echo "$*"
    complaints=$((complaints + 1))
}

# `named` has what a test may be named after, `needing` what needs one.
find_modules() {
    local file
    for file in src/library/*/*.[ch]; do
        named[${file:12:-2}]=1
    done
    for file in src/library/*/*.c $(grep -l '^static inline ' src/library/*/*.h); do
        needing[${file:12:-2}]=1
    done
}

# Of modules whose names begin alike the longest one is meant: context_wait_test.c is no test of `context`.
find_tests() {
    local file name folder
    for file in tests/unit/*/*_test.c; do
        name=${file:11:-7}
        folder=${name%%/*}
        if [ ! -d "src/library/$folder" ]; then
            [ "$folder" = whole ] || [ -d "src/$folder" ] || complain "$file: there is no folder src/library/$folder"
            continue
        fi
        while [ -z "${named[$name]:-}" ]; do
            case $name in
                */*_*) name=${name%_*} ;;
                *) name= && break ;;
            esac
        done
        if [ "$name" ]; then tested[$name]=1; else complain "$file: its name begins with no module of src/library/$folder"; fi
    done
}

read_covered() {
    local line name by word
    while read -r line; do
        case $line in '' | '#'*) continue ;; esac
        if ! [[ $line =~ ^([a-z_/]+):\ by\ ([a-z_0-9]+(,\ [a-z_0-9]+)*):\ .+ ]]; then
            complain "covered.txt: not understood: $line"
            continue
        fi
        name=${BASH_REMATCH[1]} by=${BASH_REMATCH[2]}
        if [ "${listed[$name]:-}" ]; then complain "covered.txt: $name stands there twice"; fi
        listed[$name]=1
        if [ -z "${needing[$name]:-}" ]; then complain "covered.txt: $name is no module"; fi
        if [ "${tested[$name]:-}" ]; then complain "covered.txt: $name has a test of its own"; fi
        for word in ${by//,/}; do
            if [ -z "${test_of_ctest[$word]:-}" ]; then complain "covered.txt: $name is covered by $word, which is no test"; fi
        done
    done < "$covered"
}

cd "$checkout"
while read -r name; do
    test_of_ctest[$name]=1
done < <("$ctest" --test-dir "$build" -N | sed -n 's/^ *Test *#[0-9]*: //p')
find_modules
find_tests
read_covered
for name in "${!needing[@]}"; do
    if [ -z "${tested[$name]:-}${listed[$name]:-}" ]; then complain "src/library/$name has no test, and no line in $covered"; fi
done
if [ ${#needing[@]} -lt 90 ]; then complain "only ${#needing[@]} modules are found"; fi
[ "$complaints" = 0 ] || exit 1
echo "${#needing[@]} modules: $((${#needing[@]} - ${#listed[@]})) have tests of their names, ${#listed[@]} are covered by others"
