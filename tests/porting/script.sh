#!/usr/bin/env bash
# script.sh: what docs/porting.md says of its script for sed holds.
#
# - The script includes streampool.h behind the macros that a source defines, before its first #include and once.
# - The grep that the page shows finds all that the script leaves to the reader, and nothing else.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

same() {  # WHAT EXPECTED ACTUAL
    if ! diff -u "$2" "$3"; then
        echo "$1"
        failed=1
    fi
}

# ----------------------------------------------------------------------------------------- include

cat > "$work/macros.c" << 'END'
// A comment of #include "nothing".
#define _GNU_SOURCE
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
  # include <cuda_runtime.h>
#include <stdio.h>
END
sed '4i #include <streampool/streampool.h>' "$work/macros.c" > "$work/macros.expected"
echo 'int none;' > "$work/none.c"

bash "$here/rename.sh" "$work/renamed" "$work/macros.c" "$work/none.c"
same "the #include is in another place" "$work/macros.expected" "$work/renamed/macros.c"
same "a file with no #include got one" "$work/none.c" "$work/renamed/none.c"

# ------------------------------------------------------------------------------------ what is left

# The grep is to find the lines that say so, behind the script.
cat > "$work/left.cu" << 'END'
#include <cuda_runtime.h>
using owner = std::unique_ptr<void, decltype(&cudaFree)>; // left
cudaError_t (*allocate)(void **, size_t, cudaStream_t) = cudaMallocAsync; // left
cudaError_t (*from_pool)(void **, size_t, cudaMemPool_t, cudaStream_t) = cudaMallocFromPoolAsync; // left
table = {cudaFreeAsync, destroy}; // left
table = {destroy, cudaMemPoolDestroy}; // left
invoke(cudaStreamQuery, stream); // left
invoke(cudaStreamWaitEvent, stream); // left
invoke(cudaEventDestroy, event); // left
invoke(cudaDeviceSynchronize); // left
invoke(cudaDeviceSetMemPool, 0, pool); // left
#define CALL(name) cuda##name // left
#define ALLOCATE(kind) cudaMalloc ## kind // left
cudaMemPoolExportPointer(&data, p); // left
invoke(cudaMemGetDefaultMemPool, &pool, &location, cudaMemAllocationTypePinned); // left
invoke(cudaMemSetMemPool, &location, cudaMemAllocationTypePinned, pool); // left
cudaEventRecordWithFlags(e, s, 0); // left
return cudaGetLastError(); // left
return cudaPeekAtLastError(); // left
cudaDeviceGetAttribute(&yes, cudaDevAttrMemoryPoolsSupported, 0); // left
cudaDeviceGetAttribute(&kinds, cudaDevAttrMemoryPoolSupportedHandleTypes, 0); // left
if (properties.memoryPoolsSupported) // left
    cudaFreeAsync(p, s);
cudaMemGetMemPool(&pool, &location, cudaMemAllocationTypeManaged);
cudaMemPool_t pool;
cudaMemPoolProps props = {cudaMemAllocationTypePinned};
cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
cudaMalloc(&p, 4), cudaFreeHost(q), cudaStreamCreate(&s), cudaEventCreate(&e);
cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0);
END

command=$(grep -E '^grep .* FILES$' "$here/../../docs/porting.md")
bash "$here/rename.sh" "$work/renamed" "$work/left.cu"
bash -c "${command% FILES} \"\$1\"" - "$work/renamed/left.cu" > "$work/found" || true
grep -n '// left$' "$work/renamed/left.cu" > "$work/left"
same "the grep in docs/porting.md finds other lines than those that the script leaves" "$work/left" "$work/found"
exit "$failed"
