// The calls. Each function makes one, which is counted, and what has to come before and behind it,
// which is not.
#include <stdio.h>

#include "growth/count.h"
#include "growth/world.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

_Thread_local uint64_t growth_entered;
_Thread_local bool growth_counts;

// The compiler puts calls of these into the library: the first one into each basic block.
void __sanitizer_cov_trace_pc(void);
void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

__attribute__((visibility("default"))) void __sanitizer_cov_trace_pc(void) {
    growth_entered += growth_counts;
}

__attribute__((visibility("default"))) void __cyg_profile_func_enter(void *function,
                                                                     void *call_site) {
    (void)function, (void)call_site;
}

__attribute__((visibility("default"))) void __cyg_profile_func_exit(void *function,
                                                                    void *call_site) {
    (void)function, (void)call_site;
}

#define SUCCEEDS(call) EXPECT(COUNTED(call), poolSuccess)

// -------------------------------------------------------------------------- allocations and frees

static size_t asked(const struct world *world) {
    return MIB(world->size[BYTES]);
}

static void malloc_counted(struct world *world, size_t size, unsigned int flags) {
    void *pointer = NULL;
    SUCCEEDS(poolMallocAsyncWithFlags(&pointer, size, world->pool, world->stream, flags));
    test_free(pointer, world->stream);
}

static void malloc_small(struct world *world) {
    malloc_counted(world, 1000, poolMallocDefault);
}

static void malloc_large(struct world *world) {
    malloc_counted(world, asked(world), poolMallocDefault);
}

// A size that no block had, so it is cut from another one.
static void malloc_new_size(struct world *world) {
    malloc_counted(world, MIB(2) + 512 * (size_t)numbers_below(&world->numbers, 4096),
                   poolMallocDefault);
}

static void trim(const struct world *world) {
    EXPECT(poolStreamSynchronize(world->stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(world->pool, 0), poolSuccess);
}

enum { GAPS = 1024 };

// Fills the gaps in which a block of the size would find a place. Returns how many there are now.
static unsigned fill_gaps(const struct world *world, size_t size, void **gaps, unsigned count) {
    uint64_t reserved = test_reserved(world->pool);
    for (bool grown = false; !grown; trim(world)) {
        void *gap = test_malloc(world->pool, size, world->stream);
        grown = test_reserved(world->pool) > reserved;
        REQUIRE(count < GAPS);
        if (grown)
            test_free(gap, world->stream);
        else
            gaps[count++] = gap;
    }
    return count;
}

static void malloc_grows(struct world *world) {
    void *gaps[GAPS];
    unsigned count = 0;
    trim(world);
    for (size_t part = 64; part > 0; part /= 4)
        count = fill_gaps(world, part * asked(world), gaps, count);
    malloc_counted(world, asked(world), poolMallocDefault);
    while (count > 0)
        test_free(gaps[--count], world->stream);
}

static void malloc_refused(struct world *world) {
    void *pointer = NULL;
    EXPECT(COUNTED(poolMallocFromPoolAsync(&pointer, GIB(500), world->pool, world->stream)),
           poolErrorMemoryAllocation);
}

// What another stream freed, and nobody waited for.
static void malloc_of_other(struct world *world) {
    test_free(test_malloc(world->pool, asked(world), world->other), world->other);
    malloc_counted(world, asked(world), poolMallocDefault);
    EXPECT(poolStreamSynchronize(world->stream), poolSuccess);
}

static void free_small(struct world *world) {
    void *pointer = test_malloc(world->pool, 1000, world->stream);
    SUCCEEDS(poolFreeAsync(pointer, world->stream));
}

static void free_large(struct world *world) {
    void *pointer = test_malloc(world->pool, asked(world), world->stream);
    SUCCEEDS(poolFreeAsync(pointer, world->stream));
}

static void free_elsewhere(struct world *world) {
    void *pointer = test_malloc(world->pool, asked(world), world->stream);
    SUCCEEDS(poolFreeAsync(pointer, world->other));
    EXPECT(poolStreamSynchronize(world->other), poolSuccess);
}

static void free_small_elsewhere(struct world *world) {
    void *pointer = test_malloc(world->pool, 1000, world->stream);
    SUCCEEDS(poolFreeAsync(pointer, world->other));
    EXPECT(poolStreamSynchronize(world->other), poolSuccess);
}

static void free_in_no_order(struct world *world) {
    void *pointer = test_malloc(world->pool, asked(world), world->stream);
    SUCCEEDS(poolFree(pointer));
}

static void free_after(struct world *world, size_t size) {
    void *pointer = test_malloc(world->pool, size, world->stream);
    SUCCEEDS(poolFreeAsyncAfter(pointer, world->listed, (size_t)world->size[LIST]));
}

static void free_after_large(struct world *world) {
    free_after(world, asked(world));
}

static void free_after_small(struct world *world) {
    free_after(world, 1000);
}

static void refuse_free(struct world *world, void *pointer) {
    EXPECT(COUNTED(poolFreeAsync(pointer, world->stream)), poolErrorInvalidValue);
}

static void free_within(struct world *world) {
    refuse_free(world, world->within);
}

// No allocation begins there, whatever lies there by now.
static void free_freed(struct world *world) {
    refuse_free(world, world->freed + 1);
}

// --------------------------------------------------------------------------------------- pointers

static enum poolPointerState look_at(const void *address) {
    struct poolPointerAttributes attributes;
    SUCCEEDS(poolPointerGetAttributes(&attributes, address));
    return attributes.state;
}

static void pointer_live(struct world *world) {
    REQUIRE(look_at(world->within) == poolPointerLive);
}

static void pointer_freed(struct world *world) {
    REQUIRE(look_at(world->freed) != poolPointerForeign);
}

static void pointer_foreign(struct world *world) {
    REQUIRE(look_at(world) == poolPointerForeign);
}

// ------------------------------------------------------------------------------ streams and events

static void stream_synchronize(struct world *world) {
    test_free(test_malloc(world->pool, MIB(1), world->stream), world->stream);
    SUCCEEDS(poolStreamSynchronize(world->stream));
}

// In a pool that keeps nothing. What it has otherwise is not complete, or lies between live blocks.
static void stream_synchronize_trims(struct world *world) {
    uint64_t none = 0, all = UINT64_MAX;
    poolMemPoolSetAttribute(world->pool, poolMemPoolAttrReleaseThreshold, &none);
    test_free(test_malloc(world->pool, 1000, world->stream), world->stream);
    SUCCEEDS(poolStreamSynchronize(world->stream));
    poolMemPoolSetAttribute(world->pool, poolMemPoolAttrReleaseThreshold, &all);
}

static void stream_query(struct world *world) {
    SUCCEEDS(poolStreamQuery(world->stream));
}

static void stream_destroy(struct world *world) {
    CUstream stream = test_stream();
    test_free(test_malloc(world->pool, MIB(1), stream), stream);
    SUCCEEDS(poolStreamDestroy(stream));
}

static void stream_wait_event(struct world *world) {
    EXPECT(poolEventRecord(world->event, world->other), poolSuccess);
    SUCCEEDS(poolStreamWaitEvent(world->stream, world->event, 0));
}

static void event_record(struct world *world) {
    SUCCEEDS(poolEventRecord(world->event, world->stream));
}

static void event_query(struct world *world) {
    SUCCEEDS(poolEventQuery(world->event));
}

static void event_synchronize(struct world *world) {
    SUCCEEDS(poolEventSynchronize(world->event));
}

static void event_destroy(struct world *world) {
    CUevent event = test_event();
    EXPECT(poolEventRecord(event, world->stream), poolSuccess);
    SUCCEEDS(poolEventDestroy(event));
}

// ------------------------------------------------------------------------------------------- pools

static void pool_create(struct world *world) {
    struct poolMemPoolProps props = test_pool_props(0);
    poolMemPool_t pool = NULL;
    (void)world;
    SUCCEEDS(poolMemPoolCreate(&pool, &props));
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
}

static void pool_destroy(struct world *world) {
    poolMemPool_t pool = test_pool();
    test_free(test_malloc(pool, asked(world), world->stream), world->stream);
    EXPECT(poolStreamSynchronize(world->stream), poolSuccess);
    SUCCEEDS(poolMemPoolDestroy(pool));
}

static void pool_get_figure(struct world *world) {
    uint64_t value = 0;
    SUCCEEDS(poolMemPoolGetAttribute(world->pool, poolMemPoolAttrUsedMemCurrent, &value));
    SUCCEEDS(poolMemPoolGetAttribute(world->pool, poolMemPoolAttrReservedMemCurrent, &value));
}

static void pool_get_setting(struct world *world) {
    uint64_t value = 0;
    SUCCEEDS(poolMemPoolGetAttribute(world->pool, poolMemPoolAttrReleaseThreshold, &value));
}

static void pool_set_threshold(struct world *world) {
    uint64_t value = UINT64_MAX;
    SUCCEEDS(poolMemPoolSetAttribute(world->pool, poolMemPoolAttrReleaseThreshold, &value));
}

static void pool_get_access(struct world *world) {
    struct poolMemLocation location = {poolMemLocationTypeDevice, 0};
    enum poolMemAccessFlags flags;
    SUCCEEDS(poolMemPoolGetAccess(&flags, world->pool, &location));
}

static void pool_trim_nothing(struct world *world) {
    SUCCEEDS(poolMemPoolTrimTo(world->pool, SIZE_MAX));
}

static void pool_trim_all(struct world *world) {
    test_free(test_malloc(world->pool, asked(world), world->stream), world->stream);
    EXPECT(poolStreamSynchronize(world->stream), poolSuccess);
    SUCCEEDS(poolMemPoolTrimTo(world->pool, 0));
}

static void pool_prime(struct world *world) {
    SUCCEEDS(poolMemPoolPrime(world->pool, asked(world)));
}

static void device_get_pools(struct world *world) {
    poolMemPool_t pool = NULL;
    (void)world;
    SUCCEEDS(poolDeviceGetDefaultMemPool(&pool, 0));
    SUCCEEDS(poolDeviceGetMemPool(&pool, 0));
}

static void device_set_pool(struct world *world) {
    SUCCEEDS(poolDeviceSetMemPool(0, world->pool));
}

// The last call: the work that was held ends before it.
static void device_synchronize(struct world *world) {
    if (world->hold.ended)
        test_let_go(&world->hold);
    world->hold.ended = NULL;
    SUCCEEDS(poolDeviceSynchronize());
}

static void print_statistics(struct world *world) {
    FILE *out = fopen("/dev/null", "w");
    REQUIRE(out);
    SUCCEEDS(poolMemPoolPrintStatistics(world->pool, out));
    fclose(out);
}

// A call goes different ways by where memory happens to lie: so many basic blocks are between them.
// A free records where its stream can't hold the extent, as others hold as much as there may be.
enum { ONE_WAY = 150, RECORDS = 600, LOOKS = 800, SEARCHES = 2000, ASKS = 4000, MAPS = 20000 };

#define CALL(name, ways)                                                                           \
    { #name, name, ways }
const struct call world_calls[] = {
    CALL(malloc_small, ONE_WAY),
    CALL(malloc_large, ONE_WAY),
    CALL(malloc_new_size, SEARCHES),
    CALL(malloc_of_other, ASKS),
    CALL(free_small, RECORDS),
    CALL(free_large, ONE_WAY),
    CALL(free_elsewhere, ONE_WAY),
    CALL(free_small_elsewhere, RECORDS),
    CALL(free_in_no_order, LOOKS),
    CALL(free_after_large, ONE_WAY),
    CALL(free_after_small, 32 * RECORDS),
    CALL(free_within, LOOKS),
    CALL(free_freed, LOOKS),
    CALL(pointer_live, LOOKS),
    CALL(pointer_freed, LOOKS),
    CALL(pointer_foreign, ONE_WAY),
    CALL(stream_synchronize, ONE_WAY),
    CALL(stream_query, ONE_WAY),
    CALL(stream_destroy, ONE_WAY),
    CALL(stream_wait_event, ONE_WAY),
    CALL(event_record, ONE_WAY),
    CALL(event_query, ONE_WAY),
    CALL(event_synchronize, ONE_WAY),
    CALL(event_destroy, ONE_WAY),
    CALL(pool_create, ONE_WAY),
    CALL(pool_destroy, ONE_WAY),
    CALL(pool_get_figure, ONE_WAY),
    CALL(pool_get_setting, ONE_WAY),
    CALL(pool_set_threshold, ONE_WAY),
    CALL(pool_get_access, ONE_WAY),
    CALL(device_get_pools, ONE_WAY),
    CALL(device_set_pool, ONE_WAY),
    CALL(print_statistics, MAPS),
    CALL(pool_trim_nothing, ONE_WAY),
    CALL(pool_prime, ONE_WAY),
    CALL(malloc_refused, ONE_WAY),
    CALL(malloc_grows, MAPS),
    CALL(pool_trim_all, MAPS),
    CALL(device_synchronize, ONE_WAY),
    CALL(stream_synchronize_trims, MAPS),
};
const size_t world_call_count = sizeof world_calls / sizeof world_calls[0];
