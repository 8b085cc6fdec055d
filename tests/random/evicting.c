#include "random/evicting.h"

#include <inttypes.h>
#include <stdlib.h>

#include "process/runtime.h"
#include "random/choose.h"
#include "random/ordering.h"
#include "region/device.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// All of a pool's memory is copied, so this is done seldom.
enum { RESTS = 64 };

struct contents {
    struct thread *thread;
    struct poolMemRange *ranges;
    char *bytes; // of all ranges, one behind the other
    size_t count, size;
};

static CUdeviceptr place_of(const void *address) {
    return (CUdeviceptr)(uintptr_t)address;
}

static void require_refusal(struct thread *thread, poolMemPool_t pool) {
    void *pointer = NULL;
    size_t size = thread->world->sizes[0];
    world_pass_default_stream(thread, thread->context);
    poolError_t error = poolMallocFromPoolAsync(&pointer, size, pool, CU_STREAM_LEGACY);
    if (error != poolErrorIllegalState)
        thread_fail(thread, "an evicted pool's malloc gives %s", poolGetErrorName(error));
}

static poolError_t save(void *user, const struct poolMemRange *ranges, size_t count) {
    struct contents *contents = user;
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        contents->size += ranges[i].size;
    contents->count = count;
    contents->bytes = malloc(contents->size + 1);
    contents->ranges = calloc(count + 1, sizeof *ranges);
    REQUIRE(contents->bytes && contents->ranges);
    for (size_t i = 0; i < count; i++) {
        contents->ranges[i] = ranges[i];
        DRIVER(test_driver()->cuMemcpyDtoH(contents->bytes + at, place_of(ranges[i].ptr),
                                           ranges[i].size));
        at += ranges[i].size;
    }
    return poolSuccess;
}

// Nothing is freed in between.
static poolError_t load(void *user, const struct poolMemRange *ranges, size_t count) {
    const struct contents *contents = user;
    size_t at = 0;
    if (count != contents->count)
        thread_fail(contents->thread, "%zu ranges come back of %zu", count, contents->count);
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].ptr != contents->ranges[i].ptr || ranges[i].size != contents->ranges[i].size)
            thread_fail(contents->thread, "range %zu has become another one", i);
        DRIVER(test_driver()->cuMemcpyHtoD(place_of(ranges[i].ptr), contents->bytes + at,
                                           ranges[i].size));
        at += ranges[i].size;
    }
    return poolSuccess;
}

static void evict_and_restore(struct thread *thread, struct pool *pool) {
    struct contents contents = {.thread = thread};
    size_t stayed = 0;
    EXPECT(poolMemPoolEvict(pool->handle, save, &contents, &stayed), poolSuccess);
    thread_trace(thread, "evict %zu bytes in %zu ranges", contents.size, contents.count);
    if (stayed != test_reserved(pool->handle))
        thread_fail(thread, "%zu bytes stay, and %" PRIu64 " are reserved", stayed,
                    test_reserved(pool->handle));
    keeping_trimmed(&pool->keeping, 0);
    require_refusal(thread, pool->handle);
    EXPECT(poolMemPoolMakeResident(pool->handle, load, &contents), poolSuccess);
    free(contents.bytes);
    free(contents.ranges);
    thread_require_order(thread);
}

void evicting_of_pool(struct thread *thread) {
    const struct world *world = thread->world;
    struct pool *pool = choose_pool(thread);
    bool is_mapped = test_flag(pool->handle, poolMemPoolAttrVirtualMemory);
    if (world->plan.threads > 1 || thread->faulty || thread->lacks_space ||
        !numbers_once_in(&thread->numbers, RESTS))
        return;
    ordering_synchronize_all(thread);
    if (is_mapped)
        evict_and_restore(thread, pool);
    else
        EXPECT(poolMemPoolEvict(pool->handle, NULL, NULL, NULL), poolErrorNotSupported);
}
