// A function for each dimension makes it true. What it allocates stays, unless it says otherwise.
#include <pthread.h>
#include <stdlib.h>

#include "growth/world.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// From one page to 2 MiB, in steps of the alignment.
static size_t draw_large(struct world *world) {
    return KIB(64) + 512 * numbers_below(&world->numbers, 4096 - 128);
}

static size_t draw_small(struct world *world) {
    return 1 + (size_t)numbers_below(&world->numbers,
                                     (uint64_t)1 << numbers_below(&world->numbers, 16));
}

static void pair(poolMemPool_t pool, size_t size, CUstream stream) {
    test_free(test_malloc(pool, size, stream), stream);
}

static void largest_ever(struct world *world, uint64_t count) {
    char *block = test_malloc(world->pool, GIB(count), world->stream);
    world->freed = block + GIB(count) - MIB(1);
    test_free(block, world->stream);
    EXPECT(poolStreamSynchronize(world->stream), poolSuccess);
}

static void largest_live(struct world *world, uint64_t count) {
    world->within =
        (char *)test_malloc(world->pool, GIB(count), world->stream) + GIB(count) - KIB(100);
}

static void large_live(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        test_malloc(world->pool, draw_large(world), world->stream);
}

static void small_live(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        test_malloc(world->pool, draw_small(world), world->stream);
}

// Every other one of a row of blocks is freed.
static void free_every_other(struct world *world, uint64_t count, CUstream stream) {
    for (uint64_t i = 0; i < count; i++) {
        void *block = test_malloc(world->pool, draw_large(world), world->stream);
        test_malloc(world->pool, draw_large(world), world->stream);
        test_free(block, stream);
    }
}

static void pieces(struct world *world, uint64_t count) {
    free_every_other(world, count, world->stream);
    EXPECT(poolStreamSynchronize(world->stream), poolSuccess);
}

static void pending(struct world *world, uint64_t count) {
    test_hold(&world->hold, world->held);
    free_every_other(world, count, world->held);
}

static void pairs_ever(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        pair(world->pool, i % 2 ? draw_large(world) : draw_small(world), world->stream);
}

static void use(struct world *world, CUstream stream) {
    pair(world->pool, draw_large(world), stream);
    pair(world->pool, draw_small(world), stream);
}

static void streams_ever(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        CUstream stream = test_stream();
        use(world, stream);
        EXPECT(poolStreamDestroy(stream), poolSuccess);
    }
}

static void streams_live(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        use(world, test_stream());
}

static void events_ever(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        CUevent event = test_event();
        EXPECT(poolEventRecord(event, world->stream), poolSuccess);
        EXPECT(poolEventDestroy(event), poolSuccess);
    }
}

static void pools_ever(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        poolMemPool_t pool = test_pool();
        pair(pool, draw_large(world), world->stream);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    }
}

static void pools_live(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        test_malloc(test_keeping_pool(), draw_large(world), world->stream);
}

static void *allocate_once(void *argument) {
    struct world *world = argument;
    test_use_device(0);
    pair(world->pool, 1000, world->stream);
    pair(world->pool, MIB(1), world->stream);
    return NULL;
}

static void threads_ever(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        pthread_t thread;
        REQUIRE(pthread_create(&thread, NULL, allocate_once, world) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
    }
}

static void devices(struct world *world, uint64_t count) {
    (void)world;
    for (uint64_t i = 1; i < count; i++) {
        test_use_device((int)i);
        test_malloc(test_default_pool((int)i), MIB(3), test_stream());
    }
    test_use_device(0);
}

// The streams of a list have no memory before the call.
static void list(struct world *world, uint64_t count) {
    for (uint64_t i = 0; i < WORLD_STREAMS; i++)
        world->listed[i] = test_stream();
    (void)count;
}

static void bytes(struct world *world, uint64_t count) {
    (void)world, (void)count; // an argument
}

void world_make(struct world *world) {
    void (*const makers[])(struct world *, uint64_t) = {
#define GROWTH_MAKER(name, text, least, most) text,
        GROWTH_DIMENSIONS(GROWTH_MAKER)
#undef GROWTH_MAKER
    };
    test_use_device(0);
    world->pool = test_keeping_pool();
    world->stream = test_stream();
    world->other = test_stream();
    world->held = test_stream();
    world->event = test_event();
    // What comes first lies lowest.
    uint64_t first = numbers_below(&world->numbers, DIMENSION_COUNT);
    for (uint64_t i = 0; i < DIMENSION_COUNT; i++) {
        uint64_t at = (first + i) % DIMENSION_COUNT;
        makers[at](world, world->size[at]);
    }
}
