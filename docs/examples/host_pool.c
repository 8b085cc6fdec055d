// Staging buffers from a pool of pinned memory: the CPU fills one, a stream copies it to the
// device, and it is freed in the stream's order, with no wait. The pool hands it out again once the
// copy is complete. Of a pool that has a limit the CPU waits for it, and isn't refused.
#include "start.h"
#include <string.h>

enum { COUNT = 64, BYTES = 4 << 20, LIMIT = 32 << 20 };

static poolMemPool_t open_host_pool(void) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeHost, 0},
                                     .maxSize = LIMIT,
                                     .usage = poolMemPoolUsageStaging};
    struct poolMemAccessDesc device = {{poolMemLocationTypeDevice, 0},
                                       poolMemAccessFlagsProtReadWrite};
    uint64_t second = 1000000000, limit = LIMIT;
    poolMemPool_t pool;
    CHECK(poolMemPoolCreate(&pool, &props));
    CHECK(poolMemPoolSetAccess(pool, &device, 1)); // at first the host alone has access
    CHECK(poolMemPoolSetAttribute(pool, poolMemPoolAttrHostWaitMax, &second));
    CHECK(poolMemPoolSetAttribute(pool, poolMemPoolAttrReleaseThreshold, &limit)); // stays pinned
    return pool;
}

int main(void) {
    open_device();
    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);
    poolMemPool_t pool = open_host_pool();
    unsigned char last[2];
    int right = 0;
    void *on_device, *buffer;
    CHECK(poolMallocAsync(&on_device, (size_t)COUNT * BYTES, stream));
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(poolMallocFromPool(&buffer, BYTES, pool)); // the CPU may write at once
        memset(buffer, (int)i, BYTES);
        CHECK(cuMemcpyHtoDAsync((CUdeviceptr)on_device + i * BYTES, buffer, BYTES, stream));
        CHECK(poolFreeAsync(buffer, stream));
    }
    CHECK(poolStreamSynchronize(stream));
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(cuMemcpyDtoH(last, (CUdeviceptr)on_device + (i + 1) * BYTES - 2, 2));
        right += last[0] == i && last[1] == i;
    }
    printf("%d of %d buffers are right; of %d MiB at most %d were pinned at once\n", right, COUNT,
           COUNT * (BYTES >> 20), (int)(figure(pool, poolMemPoolAttrReservedMemHigh) >> 20));
    CHECK(poolFreeAsync(on_device, stream));
    CHECK(poolStreamDestroy(stream));
    CHECK(poolMemPoolDestroy(pool));
    return right == COUNT ? 0 : 1;
}
