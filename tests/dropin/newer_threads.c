// The newer driver's own pools, from several threads at once: each has its own memory, and can free
// it. The threads switch at driver calls, as a seed says.
#include "driver/abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <streampool/simcuda.h>

enum { THREADS = 4, ROUNDS = 200, KEPT = 8 };

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult cuInit(unsigned int flags);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuStreamCreate(CUstream *stream, unsigned int flags);

static void require(CUresult result, const char *call) {
    if (result == CUDA_SUCCESS)
        return;
    printf("%s: %d\n", call, (int)result);
    exit(EXIT_FAILURE);
}

#define REQUIRE(call) require(call, #call)

static void allocate_and_free(void *context) {
    CUdeviceptr kept[KEPT] = {0};
    CUstream stream;
    REQUIRE(cuCtxSetCurrent(context));
    REQUIRE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 0; i < ROUNDS + KEPT; i++) {
        CUdeviceptr *address = &kept[i % KEPT];
        if (*address)
            REQUIRE(cuMemFreeAsync(*address, stream));
        *address = 0;
        if (i < ROUNDS)
            REQUIRE(cuMemAllocAsync(address, 4096, stream));
    }
}

int main(void) {
    void *contexts[THREADS];
    CUcontext context;
    CUmemoryPool pool;
    uint64_t used = 0;
    REQUIRE(cuInit(0));
    REQUIRE(cuDevicePrimaryCtxRetain(&context, 0));
    for (int i = 0; i < THREADS; i++)
        contexts[i] = context;
    if (simcudaRunThreads(allocate_and_free, contexts, THREADS) != 0)
        return EXIT_FAILURE;
    REQUIRE(cuDeviceGetDefaultMemPool(&pool, 0));
    REQUIRE(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    if (used > 0)
        printf("%llu bytes are in use\n", (unsigned long long)used);
    return used == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
