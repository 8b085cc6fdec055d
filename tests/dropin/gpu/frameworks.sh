#!/usr/bin/env bash
# frameworks.sh BUILD [FOLDER]: on a machine with a GPU, runs PyTorch, CuPy, JAX and RMM, those that Python finds, as they are and
# under `streampool run` of the build folder BUILD, and compares what they compute. What they print stays in FOLDER.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=${2:-$(mktemp -d)}
mkdir -p "$work"
export PYTHONUNBUFFERED=1

# run NAME MODULE SCRIPT...: prints "same" or the differences. Lines about the device's memory are told, not compared.
run() {
    name=$1 module=$2
    shift 2
    python3 -c "import $module" 2> /dev/null || { echo "$name: there is no $module"; return; }
    timeout 120 python3 "$here/$@" > "$work/$name.cuda" 2> "$work/$name.cuda.err"
    code=$?
    timeout 120 "$build/bin/streampool" run --output="$work/$name.summary" -- python3 "$here/$@" > "$work/$name.ours" \
        2> "$work/$name.ours.err"
    ours=$?
    if diff <(grep -v "^device memory" "$work/$name.cuda") <(grep -v "^device memory" "$work/$name.ours") > "$work/$name.diff"; then
        echo "$name: same (status $code and $ours)"
    else
        echo "$name: differs (status $code and $ours)"
        cat "$work/$name.diff"
    fi
    grep -h "^device memory" "$work/$name.cuda" "$work/$name.ours" | paste -s -d'|'
    grep -h -i "served\|CUDA's" "$work/$name.summary" 2> /dev/null | head -4
}

run transformer torch pytorch.py transformer
run streams torch pytorch.py streams
run graph torch pytorch.py graph
run full torch pytorch.py full
run profiled torch pytorch.py profiled
run cupy cupy cupy_pool.py
run jax jax jax_pool.py
run rmm rmm rmm_pool.py
