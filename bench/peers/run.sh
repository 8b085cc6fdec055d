#!/usr/bin/env bash
# Measures streampool beside what people use today: CUDA's pool, RMM's resources and PyTorch's allocator, in one run;
# pools of the host's memory, CuPy's and PyTorch's; and copies, PyTorch's and KvikIO's.
#
#   bash bench/peers/run.sh [--no-install] [--programs FOLDER] [RESULTS]
#
# Needs a GPU, a C++17 compiler and the CUDA toolkit (CUDA_HOME, or nvcc on the PATH), and measures those peers that are
# installed: RMM where RMM_ROOT and RAPIDS_LOGGER_ROOT name their folders or python3 has the packages librmm and
# rapids_logger, PyTorch, CuPy and KvikIO where python3 has them. A peer that is missing is named. Builds a release, or
# takes the programs streampool and streampool-bench from FOLDER. Writes what they print, the same as JSON, and plots of
# it into RESULTS (build/peers-results), from where `python3 bench/page/page.py take` puts it into docs/benchmarks.md.
# RMM's arena is in no plot, for it takes a size of its own at its start.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tests/help.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. bench/build.sh

install=yes
programs=
results=build/peers-results
cases="pair sizes growth threads after"
traces=$(printf 'bench/traces/%s.csv.gz ' gnn_random gpt2_train resnet_multires infer_streams serve_chat)
failed=()

usage() {
    echo "usage: bash bench/peers/run.sh [--no-install] [--programs FOLDER] [RESULTS]" >&2
    exit 64
}

while [ $# -gt 0 ]; do
    case $1 in
        --no-install) install=no ;;
        --programs) [ $# -gt 1 ] || usage; programs=$2; shift ;;
        -*) usage ;;
        *) results=$1 ;;
    esac
    shift
done

folder_of() {  # PYTHON_PACKAGE: nothing where there is none
    python3 -c "import importlib.util as u; s = u.find_spec('$1'); print(s.submodule_search_locations[0])" 2> /dev/null || true
}

find_cuda() {
    if [ -n "${CUDA_HOME:-}" ]; then echo "$CUDA_HOME"; return; fi
    if command -v nvcc > /dev/null; then dirname "$(dirname "$(realpath "$(command -v nvcc)")")"; fi
}

build_peer() {  # NAME OPTION...
    local name=$1
    shift
    echo "building the peer $name"
    c++ -std=c++17 -O2 -shared -fPIC -Iinclude -isystem "$cuda/include" "bench/peers/$name.cc" -o "$results/$name.so" "$@"
}

build_rmm() {
    local rmm=${RMM_ROOT:-$(folder_of librmm)} logger=${RAPIDS_LOGGER_ROOT:-$(folder_of rapids_logger)}
    if [ -z "$rmm" ] || [ -z "$logger" ]; then
        echo "RMM is left out: it isn't installed (RMM_ROOT, RAPIDS_LOGGER_ROOT)."
        return 1
    fi
    build_peer rmm -isystem "$rmm/include" -isystem "$rmm/include/rapids" -isystem "$logger/include" \
        "$rmm/lib64/librmm.so" "$logger/lib64/librapids_logger.so" -L"$cuda/lib64" -lcudart \
        -Wl,-rpath,"$(realpath "$rmm/lib64")" -Wl,-rpath,"$(realpath "$logger/lib64")"
}

build_torch() {
    local torch
    torch=$(folder_of torch)
    if [ -z "$torch" ]; then
        echo "PyTorch is left out: python3 has no torch."
        return 1
    fi
    build_peer torch -isystem "$torch/include" -L"$torch/lib" -lc10_cuda -lc10 -L"$cuda/lib64" -lcudart \
        -Wl,-rpath,"$torch/lib"
}

# Runs one measurement, which takes --json; what it prints is shown and kept.
measure() {  # NAME COMMAND...
    local name=$1
    shift
    echo
    echo "== $name"
    "$@" --json "$results/$name.json" 2>&1 | tee "$results/$name.txt" || failed+=("$name")
}

# The cases of pairs and growth, and the traces, beside these peers.
measure_beside() {  # NAME PEER...
    local name=$1 peer case
    local -a peers=()
    shift
    for peer; do peers+=(--peer "$PWD/$results/$peer.so"); done
    # shellcheck disable=SC2086  # one word for each case and trace
    {
        for case in $cases; do
            measure "$case-$name" "$programs/streampool-bench" --wide --device gpu "${peers[@]}" "$case"
        done
        measure "replay-$name" "$programs/streampool" replay --wide --device gpu --perturb 7 --passes 2 \
            --allocator pool,promised,driver "${peers[@]}" $traces
    }
}

cuda=$(find_cuda)
if [ -z "$cuda" ]; then
    echo "There is no CUDA toolkit: neither CUDA_HOME nor nvcc." >&2
    exit 1
fi
if [ -z "$programs" ]; then
    build_release build/bench "$install" -DSTREAMPOOL_BENCH=ON
    programs=build/bench/bin
fi
mkdir -p "$results"
results=$(realpath --relative-to="$PWD" "$results")

peers=()
for peer in rmm torch; do
    if "build_$peer"; then peers+=("$peer"); fi
done
if [ ${#peers[@]} -eq 0 ]; then
    echo "No peer is installed." >&2
    exit 1
fi
measure_beside peers "${peers[@]}"
# PyTorch has one allocator in a process, so the other one has a run of its own.
if [[ " ${peers[*]} " == *" torch "* ]]; then
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True measure_beside expandable torch
fi
measure host "$programs/streampool-bench" --wide --device gpu host
if [ -n "$(folder_of cupy)$(folder_of torch)" ]; then
    measure host-peers python3 bench/peers/host_peers.py
else
    echo "Others' pinned memory is left out: python3 has neither CuPy nor torch."
fi
measure copy "$programs/streampool-bench" --wide --device gpu copy
if [ -n "$(folder_of torch)$(folder_of kvikio)" ]; then
    measure copy-peers python3 bench/peers/copy_peers.py
else
    echo "Others' copies are left out: python3 has neither torch nor KvikIO."
fi
"$programs/streampool" plot --output "$results" --without "RMM arena" "$results"/*.json || failed+=(plots)

echo
echo "The results are in $results."
if [ ${#failed[@]} -gt 0 ]; then
    echo "Failed: ${failed[*]}" >&2
    exit 1
fi
