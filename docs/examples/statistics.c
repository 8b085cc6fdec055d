// A pool says what it holds, and how many allocations it served by which rule.
#include "start.h"

#include <streampool/statistics.h>

enum { BLOCKS = 16, BYTES = 5 << 20 };

static void allocate(poolMemPool_t pool, CUstream stream, void **blocks) {
    for (int i = 0; i < BLOCKS; i++)
        CHECK(poolMallocFromPoolAsync(&blocks[i], BYTES, pool, stream));
}

// With a step of 2 every other block stays.
static void free_from(int first, int step, void **blocks, CUstream stream) {
    for (int i = first; i < BLOCKS; i += step)
        CHECK(poolFreeAsync(blocks[i], stream));
}

static unsigned long long mib(poolMemPool_t pool, enum poolMemPoolAttr name) {
    return figure(pool, name) >> 20;
}

// Pinned memory is free, but shares an extent with a live block: it can't go back to the device.
static void print_memory(poolMemPool_t pool) {
    printf("live %llu MiB, reserved %llu MiB, pinned %llu MiB\n",
           mib(pool, poolMemPoolAttrUsedMemCurrent), mib(pool, poolMemPoolAttrReservedMemCurrent),
           mib(pool, poolMemPoolStatPinnedBytes));
}

// The list has a row for each statistic: that of Growths is poolMemPoolStatGrowths.
static void print_what_was_counted(poolMemPool_t pool) {
#define PRINT(name, number, text)                                                                  \
    if (figure(pool, poolMemPoolStat##name) != 0)                                                  \
        printf("%s %llu\n", #name, (unsigned long long)figure(pool, poolMemPoolStat##name));
    STREAMPOOL_POOL_STATISTICS(PRINT)
#undef PRINT
}

int main(void) {
    void *blocks[BLOCKS];
    void *large;
    open_device();
    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);
    poolMemPool_t pool = open_pool();
    allocate(pool, stream, blocks);
    free_from(0, 2, blocks, stream);
    print_memory(pool);
    // The block is larger than each free piece, so pieces are mapped once more, side by side: a
    // remap.
    CHECK(poolMallocFromPoolAsync(&large, (size_t)4 * BYTES, pool, stream));
    CHECK(poolFreeAsync(large, stream));
    print_what_was_counted(pool);
    free_from(1, 2, blocks, stream);
    puts("and all of it, for a person to read:");
    CHECK(poolMemPoolPrintStatistics(pool, stdout));
    CHECK(poolStreamDestroy(stream));
    CHECK(poolMemPoolDestroy(pool));
    return 0;
}
