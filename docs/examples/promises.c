// What a program can promise of its streams, and what that saves: on a stream that takes part in
// the legacy stream's order a pool records an event for each allocation of memory that was used
// before, and it asks the driver in each call which stream it is and whether it captures. With
// promises it does neither.
#define _POSIX_C_SOURCE 199309L // for clock_gettime, with -std=c11 too
#include "start.h"

#include <time.h>

enum { PAIRS = 1000, BYTES = 1 << 20 };

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void allocate_and_free(poolMemPool_t pool, CUstream stream, int pairs) {
    for (int i = 0; i < pairs; i++) {
        void *block;
        CHECK(poolMallocFromPoolAsync(&block, BYTES, pool, stream));
        CHECK(poolFreeAsync(block, stream));
    }
}

static void measure(const char *what, int promises) {
    poolMemPool_t pool = open_pool();
    CUstream stream = open_stream(CU_STREAM_DEFAULT);
    CHECK(poolMemPoolSetAttribute(pool, poolMemPoolAttrStreamPromises, &promises));
    allocate_and_free(pool, stream, 1); // maps the memory
    uint64_t events = figure(pool, poolMemPoolStatEventsRecorded);
    double start = nanoseconds();
    allocate_and_free(pool, stream, PAIRS);
    double each = (nanoseconds() - start) / PAIRS;
    events = figure(pool, poolMemPoolStatEventsRecorded) - events;
    printf("%-21s %4llu events in %d pairs, %.0f ns a pair\n", what, (unsigned long long)events,
           PAIRS, each);
    CHECK(poolStreamDestroy(stream)); // cuStreamDestroy would break the first promise
    CHECK(poolMemPoolDestroy(pool));
}

int main(void) {
    open_device();
    measure("nothing is promised:", poolPromiseNothing);
    measure("all is promised:",
            poolPromiseStreamDestroy |     // streams end by poolStreamDestroy, before their context
                poolPromiseNoCapture |     // no stream captures while it is passed to the pool
                poolPromiseNeverCapture |  // none captures from its first use with the pool on
                poolPromiseOneContext |    // all default streams are those of one context
                poolPromiseNoLegacyOrder); // events order the streams, not the legacy stream
    return 0;
}
