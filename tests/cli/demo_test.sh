#!/usr/bin/env bash
# demo_test.sh CHECKOUT PROGRAM
#
# The demo on the simulated driver, with a built program and with a trace and a recording of its own: the recording stands
# below the table where nothing runs on a GPU, and the demo runs without one too. Builds nothing: cmake does nothing here but
# look whether another demo would have to wait for it.
set -euo pipefail

checkout=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

mkdir -p "$folder"/{docs/man,bench/traces,bench/recorded,tests,src/package,build/demo,tools}
cp "$checkout"/bench/{demo,build}.sh "$folder/bench/"
cp "$checkout"/tests/{help,packages,configure}.sh "$folder/tests/"
cp "$checkout/docs/man/streampool-replay.1" "$folder/docs/man/"
cp "$checkout/src/package/prerequisites.txt" "$folder/src/package/"
ln -s "$(dirname "$program")" "$folder/build/demo/bin"
cat > "$folder/tools/cmake" << END
#!/bin/sh
if flock --nonblock "$folder/build/demo/lock" true; then touch "$folder/nobody_waits"; fi
END
chmod +x "$folder/tools/cmake"
export PATH=$folder/tools:$PATH
unset STREAMPOOL_DRIVER

gzip > "$folder/bench/traces/small.csv.gz" << 'END'
Thread,Time,Action,Pointer,Size,Stream
1,0,allocate,0x1000000,4194304,0
1,1,free,0x1000000,4194304,0
END

fail() {
    echo "$1" >&2
    cat "$folder/output" >&2
    exit 1
}

demo() {
    bash "$folder/bench/demo.sh" --no-install "$@" > "$folder/output" 2> "$folder/errors" ||
        { cat "$folder/errors" >&2; fail "the demo failed: $*"; }
}

says() {
    grep -q -- "$1" "$folder/output" || fail "the demo doesn't say '$1'"
}

for options in "--device sim" "--device=sim" "-d sim" "-dsim"; do
    # shellcheck disable=SC2086
    demo $options
    says 'small  *streampool '
    if grep -q 'recorded on' "$folder/output"; then fail "there is nothing recorded, and the demo shows it"; fi
done

"$program" replay --device sim --allocator direct --json "$folder/direct.json" "$folder"/bench/traces/*.gz > /dev/null
sed 's/"direct"/"driver"/; s/"Simulated GPU"/"Some GPU"/; s/"simulated"/"999.1"/' \
    "$folder/direct.json" > "$folder/bench/recorded/h200.json"
for options in "--device sim" "--device=sim" "-d sim" "-dsim"; do
    # shellcheck disable=SC2086
    demo $options
    says 'recorded on Some GPU, driver 999.1, '
    says "small  *CUDA's pool "
    says '^Pass 1, one trace: streampool holds 1.000 times what is live; '
    says '^Pass 1: cuMemAlloc costs [0-9.]* .s of driver calls, by the model, where those of'
    if grep -q 'cuMemAlloc holds' "$folder/output"; then fail "cuMemAlloc is compared as if it were a pool"; fi
    grep -q "^The figures of README are of the second pass, .*" "$folder/errors" || fail "README's figures aren't told apart"
    grep -q "$(date +%Y)-[0-9-]*\.\$" "$folder/errors" || fail "the recording's date isn't told"
done

# CUDA's pool, which the simulated driver hasn't got, isn't tried.
if grep -q 'not replayed' "$folder/output"; then fail "an allocator is asked for that can't be there"; fi

if [ -e "$folder/nobody_waits" ]; then fail "two demos build in one folder at once"; fi

# Files that are named are those of the folder in which the demo is started.
mkdir "$folder/elsewhere"
cd "$folder/elsewhere"
demo --device sim --json results.json
test -s results.json || fail "the results aren't in the folder in which the demo was started"

# Names may be cut short; one that no option has ends the demo before it builds.
demo --dev sim --explain-growth --json=results.json
rm "$folder/tools/cmake"
if bash "$folder/bench/demo.sh" --no-install --limits=1G > "$folder/output" 2>&1; then fail "an unknown option is taken"; fi
says '^usage: '
says ' has no option --limits '
bash "$folder/bench/demo.sh" --help > "$folder/output" || fail "there is no help"
says 'bash bench/demo.sh \[--no-install\] \[--plot \[FILE\]\] '
if grep -q '.\{81\}' "$folder/output"; then fail "the help is wider than 80 columns"; fi
printf '#!/bin/sh\n' > "$folder/tools/cmake"
chmod +x "$folder/tools/cmake"

# The picture has what was recorded, and lies in the folder in which the demo is started, or where an option says.
demo --device sim --plot
grep -q 'The picture is demo.svg' "$folder/errors" || fail "the picture isn't named"
grep -q 'CUDA.s pool: 4.0 MiB reserved, recorded' demo.svg || fail "the picture lacks what was recorded"
for options in "--plot other.svg" "--plot=other.svg"; do
    rm -f other.svg
    # shellcheck disable=SC2086
    demo $options --device sim
    test -s other.svg || fail "the picture isn't where $options says"
done
rm demo.svg
demo --plot --device sim
test -s demo.svg || fail "--plot takes an option for its file"
demo --device sim --plot -
grep -q '^<svg ' "$folder/output" || fail "the picture isn't on standard output"

if bash "$folder/bench/demo.sh" --no-install --device > "$folder/output" 2>&1; then fail "an option without its value is taken"; fi
says '^usage: '

STREAMPOOL_DRIVER=sim demo
says 'recorded on Some GPU, '
