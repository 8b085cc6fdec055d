// A pool with two tags pauses: what one tag has goes to the host, what the other one has is
// discarded, and another program may have the device. Then all come back at their addresses.
#include "start.h"

#include <streampool/copy.h>
#include <streampool/swap.h>

enum { MIB = 1 << 20, WEIGHTS = 64 * MIB, CACHE = 32 * MIB };

static void tell(const char *what, poolMemPool_t weights, poolMemPool_t cache) {
    uint64_t bytes = figure(weights, poolMemPoolAttrReservedMemCurrent) +
                     figure(cache, poolMemPoolAttrReservedMemCurrent);
    printf("%-10s %2llu MiB of the device\n", what, (unsigned long long)(bytes / MIB));
}

int main(void) {
    open_device();
    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);
    poolMemPool_t pool = open_pool(), weights, cache;
    struct poolMemPoolPaused paused;
    void *of_weights, *of_cache;
    unsigned char byte = 0;
    CHECK(poolMemPoolGetTagged(pool, "weights", &weights));
    CHECK(poolMemPoolGetTagged(pool, "cache", &cache));
    CHECK(poolMallocFromPoolAsync(&of_weights, WEIGHTS, weights, stream));
    CHECK(poolMallocFromPoolAsync(&of_cache, CACHE, cache, stream));
    CHECK(cuMemsetD8Async((CUdeviceptr)of_weights, 7, WEIGHTS, stream));
    tell("awake:", weights, cache);

    CHECK(poolMemPoolPause(pool, "cache", poolPauseDiscard, NULL, 0, NULL));
    CHECK(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, &paused)); // all others
    tell("asleep:", weights, cache);
    printf("%zu pools are paused: %zu MiB in the host, %zu MiB discarded\n", paused.pools,
           paused.hostBytes / MIB, paused.discardedBytes / MIB);
    if (poolMallocFromPoolAsync(&of_cache, 1, cache, stream) == poolErrorIllegalState)
        printf("nothing is allocated: %s\n", poolGetErrorString(poolGetLastError()));

    CHECK(poolMemPoolResume(pool, NULL));
    tell("awake:", weights, cache);
    CHECK(poolCopyToHostAsync(&byte, (char *)of_weights + WEIGHTS - 1, 1, stream));
    printf("the last byte of the weights is %d\n", byte);

    CHECK(poolFreeAsync(of_weights, stream));
    CHECK(poolFreeAsync(of_cache, stream));
    CHECK(poolStreamSynchronize(stream));
    CHECK(poolMemPoolDestroyTagged(pool, NULL));
    CHECK(poolMemPoolDestroy(pool));
    CHECK(poolStreamDestroy(stream));
    return 0;
}
