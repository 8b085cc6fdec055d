// One chunk of memory for a program that wants no streams: it is taken from the device once, and
// handed out and taken back without the driver. Memory may be used by any stream as soon as the
// call returns, and is free as soon as it is freed.
#include "start.h"

#include <streampool/mam.h>

enum { MIB = 1 << 20, CHUNK = 64 * MIB, BLOCKS = 4 };

static uint64_t mebibytes(poolMam_t mam, enum poolMemPoolAttr name) {
    poolMemPool_t pool;
    CHECK(poolMamGetPool(mam, &pool)); // for all that a pool tells
    return figure(pool, name) / MIB;
}

static void tell(const char *what, poolMam_t mam) {
    printf("%-28s %2llu of %llu MiB are used\n", what,
           (unsigned long long)mebibytes(mam, poolMemPoolAttrUsedMemCurrent),
           (unsigned long long)mebibytes(mam, poolMemPoolAttrReservedMemCurrent));
}

int main(void) {
    poolMam_t mam;
    void *blocks[BLOCKS], *all, *more = NULL;
    open_device();
    CHECK(poolMamCreate(&mam, CHUNK, 0, poolMamFixed)); // takes nothing yet

    for (int i = 0; i < BLOCKS; i++)
        CHECK(poolMamMalloc(mam, &blocks[i], CHUNK / BLOCKS));
    tell("the chunk is full:", mam);
    if (poolMamMalloc(mam, &more, 1) == poolErrorMemoryAllocation)
        printf("one more byte: %s\n", poolGetErrorString(poolGetLastError()));

    CUstream stream = open_stream(CU_STREAM_NON_BLOCKING);
    CHECK(cuMemsetD8Async((CUdeviceptr)blocks[0], 7, CHUNK / BLOCKS, stream));
    CHECK(poolStreamSynchronize(stream)); // before a free all use must have completed
    CHECK(poolStreamDestroy(stream));

    for (int i = 0; i < BLOCKS; i++)
        CHECK(poolMamFree(mam, blocks[i]));
    tell("all is freed:", mam);
    CHECK(poolMamMalloc(mam, &all, CHUNK)); // neighbours are joined
    tell("one block has all of it:", mam);
    CHECK(poolMamFree(mam, all));
    if (poolMamFree(mam, all) == poolErrorInvalidValue)
        printf("a second free is refused, and changes nothing\n");
    CHECK(poolMamDestroy(mam)); // gives the chunk back
    return 0;
}
