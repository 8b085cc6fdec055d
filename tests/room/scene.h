// One program that the room oracle draws: pools fill a device, free what they have in an order that
// is drawn, and all work ends by CUDA's own synchronise. The library hears of nothing but the
// allocations and the frees.
#ifndef STREAMPOOL_TESTS_ROOM_SCENE_H
#define STREAMPOOL_TESTS_ROOM_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <streampool/streampool.h>

#include "driver/abi.h"
#include "random/numbers.h"

// The orders in which blocks are freed.
#define ROOM_ORDERS(X)                                                                             \
    X(residue)     /* one of each few by address comes last */                                     \
    X(granule_end) /* what lies at the end of each granule */                                      \
    X(oldest_last)                                                                                 \
    X(newest_last)                                                                                 \
    X(smallest_last)                                                                               \
    X(largest_last)                                                                                \
    X(few_last)                                                                                    \
    X(random)                                                                                      \
    X(by_stream)

enum order {
#define ORDER(name) ORDER_##name,
    ROOM_ORDERS(ORDER)
#undef ORDER
        ORDERS
};

enum { SCENE_POOLS = 100, SCENE_STREAMS = 64, SCENE_BLOCKS = 32768 };

struct block {
    void *pointer;
    size_t size;
    uint32_t number; // of its allocation
    uint16_t pool;
    uint16_t stream;
    uint64_t key; // by which it is freed
};

// What all programs have done, in memory that they share.
struct tally {
    uint64_t programs, operations, quiet_points, measured;
    uint64_t orders[ORDERS];
};

struct scene {
    struct numbers numbers;
    struct tally *tally;
    size_t memory;  // of the device
    size_t granule; // of the device
    int64_t cap;    // UnfencedBytesMax of all pools; -1: what it is by default
    bool trace;
    unsigned pool_count, stream_count;
    poolMemPool_t pools[SCENE_POOLS]; // null: destroyed
    CUstream streams[SCENE_STREAMS];
    size_t block_count;
    struct block blocks[SCENE_BLOCKS];
};

static inline uint64_t scene_below(struct scene *scene, uint64_t bound) {
    return numbers_below(&scene->numbers, bound);
}

static inline bool scene_once_in(struct scene *scene, uint64_t times) {
    return numbers_once_in(&scene->numbers, times);
}

void scene_trace(const struct scene *scene, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void scene_open(struct scene *scene);

// Fills some of the device, frees most of it, and ends what there is of work. Then nothing is
// pending, and only CUDA knows.
void scene_become_quiet(struct scene *scene);

#endif
