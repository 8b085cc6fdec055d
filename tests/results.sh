# Reads what ctest wrote of a run with --output-junit. Sourced.
passed=0 failed=0 skipped=0

# "OUTCOME NAME" of each test: run, fail, or notrun for a test that skipped itself.
outcomes_of() {  # RESULTS
    sed -n 's/.*<testcase name="\([^"]*\)".* status="\([a-z]*\)".*/\2 \1/p' "$1"
}

# Adds a run's numbers to those of the runs before it.
count_results() {  # RESULTS
    local numbers
    numbers=$(outcomes_of "$1" | awk '{ count[$1]++ } END { print count["run"] + 0, count["fail"] + 0, NR }')
    set -- $numbers
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3 - $1 - $2))
}
