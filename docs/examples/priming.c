// Memory that is there before it is needed, and what a pool keeps when the program synchronises.
#include "start.h"
#include <sched.h>

enum { BLOCKS = 16, BYTES = 4 << 20 };

static CUstream stream;

static void print(poolMemPool_t pool, const char *what) {
    printf("%-30s %2llu MiB are kept, %2llu allocations mapped memory\n", what,
           (unsigned long long)figure(pool, poolMemPoolAttrReservedMemCurrent) >> 20,
           (unsigned long long)figure(pool, poolMemPoolStatGrowths));
}

// Takes 64 MiB, frees all, and synchronises: the device gets back what the pool needn't keep.
static void work(poolMemPool_t pool) {
    void *blocks[BLOCKS];
    uint64_t none = 0;
    CHECK(poolMemPoolSetAttribute(pool, poolMemPoolStatGrowths, &none)); // begins the count again
    for (int i = 0; i < BLOCKS; i++)
        CHECK(poolMallocFromPoolAsync(&blocks[i], BYTES, pool, stream));
    for (int i = 0; i < BLOCKS; i++)
        CHECK(poolFreeAsync(blocks[i], stream));
    CHECK(poolStreamSynchronize(stream));
}

int main(void) {
    int on = 1;
    uint64_t half = 32 << 20, one = 1;
    open_device();
    stream = open_stream(CU_STREAM_NON_BLOCKING);
    poolMemPool_t pool = open_pool();
    work(pool);
    print(pool, "a new pool:");
    CHECK(poolMemPoolSetAttribute(pool, poolMemPoolAttrReleaseThreshold, &half));
    work(pool);
    print(pool, "ReleaseThreshold 32 MiB:");
    CHECK(poolMemPoolSetAttribute(pool, poolMemPoolAttrReleaseDelay, &one));
    work(pool);
    print(pool, "ReleaseDelay 1, first round:");
    work(pool);
    print(pool, "ReleaseDelay 1, second round:");
    CHECK(poolMemPoolTrimTo(pool, 0));
    print(pool, "trimmed by hand:");
    CHECK(poolMemPoolDestroy(pool));

    pool = open_pool();
    CHECK(poolMemPoolPrime(pool, (size_t)BLOCKS * BYTES));
    work(pool);
    print(pool, "primed with 64 MiB:");
    CHECK(poolMemPoolTrimTo(pool, 0)); // what was primed goes, too
    CHECK(poolMemPoolSetAttribute(pool, poolMemPoolAttrTrimByReaper, &on));
    work(pool); // returns at once, and the library's own thread gives the memory back
    while (figure(pool, poolMemPoolAttrReservedMemCurrent) > 0)
        sched_yield();
    print(pool, "TrimByReaper 1, soon after:");
    CHECK(poolMemPoolDestroy(pool));
    CHECK(poolStreamDestroy(stream));
    return 0;
}
