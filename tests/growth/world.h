// The process in which calls are counted: a pool, two streams, and a history in so many dimensions.
#ifndef STREAMPOOL_TESTS_GROWTH_WORLD_H
#define STREAMPOOL_TESTS_GROWTH_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <streampool/streampool.h>

#include "random/numbers.h"
#include "support/device.h"

// clang-format off
// A dimension, and between which numbers it is drawn.
#define GROWTH_DIMENSIONS(X) \
    X(LARGEST_EVER, largest_ever, 2, 4)   /* GiB of a block that was there and is freed */ \
    X(LARGEST_LIVE, largest_live, 2, 4)   /* GiB of one that is there */ \
    X(LARGE_LIVE, large_live, 60, 200)    /* large blocks */ \
    X(SMALL_LIVE, small_live, 200, 600)   /* small blocks */ \
    X(PIECES, pieces, 60, 200)            /* free pieces between live blocks, all complete */ \
    X(PENDING, pending, 40, 120)          /* pieces that another stream freed, not complete */ \
    X(PAIRS_EVER, pairs_ever, 300, 900)   /* allocations and frees */ \
    X(STREAMS_EVER, streams_ever, 20, 60) /* streams that had memory and are destroyed */ \
    X(STREAMS_LIVE, streams_live, 20, 60) /* streams that had memory of the pool */ \
    X(EVENTS_EVER, events_ever, 20, 60)   /* events, recorded and destroyed */ \
    X(POOLS_EVER, pools_ever, 10, 20)     /* pools that had memory and are destroyed */ \
    X(POOLS_LIVE, pools_live, 10, 20)     /* other pools, which have memory */ \
    X(THREADS_EVER, threads_ever, 5, 15)  /* threads that allocated and have ended */ \
    X(DEVICES, devices, 1, 1)             /* devices whose default pool has memory */ \
    X(LIST, list, 25, 32)                 /* the streams behind which a block is freed */ \
    X(BYTES, bytes, 20, 60)               /* MiB that a call asks for */
// clang-format on

enum dimension {
#define GROWTH_NUMBER(name, text, least, most) name,
    GROWTH_DIMENSIONS(GROWTH_NUMBER)
#undef GROWTH_NUMBER
        DIMENSION_COUNT
};

enum { WORLD_STREAMS = 512, WORLD_DEVICES = 16 };

struct world {
    uint64_t size[DIMENSION_COUNT];
    struct numbers numbers;
    poolMemPool_t pool;
    CUstream stream, other;
    CUevent event;
    CUstream held; // its work does not end
    struct test_hold hold;
    char *freed;                    // an address near the end of the largest block that was there
    char *within;                   // one near the end of the largest block that is there
    CUstream listed[WORLD_STREAMS]; // of which the list takes the first ones
};

// Makes all of it true, the dimensions in the order of the list.
void world_make(struct world *world);

// A call: what is counted stands between growth_begin() and growth_end() (growth/count.h).
struct call {
    const char *name;
    void (*make)(struct world *world);
    uint64_t ways;
};

extern const struct call world_calls[];
extern const size_t world_call_count;

#endif
