// Rows of memory that is handed out only once its last use is complete: poolMallocCompleteOnly, and
// poolMallocFromPool, which no stream's order stands behind. They hold for pools of a device and of
// the host.
#include <stdint.h>

#include "conformance/rows.h"
#include "conformance/wider.h"
#include "support/check.h"
#include "support/device.h"
#include "support/places.h"
#include "support/pools.h"

static const struct test_place the_device = {
    TEST_PINNED, "device 0", {poolMemLocationTypeDevice, 0}};

// The pool's limit allows for all of these but for two of the last.
static const size_t sizes[] = {512, KIB(300), MIB(6), MIB(24)};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void for_each_place(void (*row)(const struct test_place *place)) {
    test_set_context("%s", the_device.name);
    row(&the_device);
    test_for_each_place(TEST_LIMITED, row);
}

// A pool that can't grow beyond 32 MiB, and keeps what it has.
static poolMemPool_t open_pool(const struct test_place *place) {
    poolMemPool_t pool = test_limited_pool_at(place, MIB(32));
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    return pool;
}

static poolError_t take(void **pointer, size_t size, poolMemPool_t pool, CUstream stream,
                        unsigned int flags) {
    return poolMallocAsyncWithFlags(pointer, size, pool, stream, poolMallocCompleteOnly | flags);
}

static void *complete(size_t size, poolMemPool_t pool, CUstream stream) {
    void *pointer = NULL;
    EXPECT(take(&pointer, size, pool, stream, poolMallocDefault), poolSuccess);
    REQUIRE(pointer && (uintptr_t)pointer % 512 == 0);
    return pointer;
}

static bool is_apart(const void *first, const void *second, size_t size) {
    const char *a = first, *b = second;
    return a + size <= b || b + size <= a;
}

static void close_pool(poolMemPool_t pool) {
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
}

// ------------------------------------------------------------------------------------ what is left

// A block that is freed behind held work, and what a stream is given then.
static void leave_pending(const struct test_place *place, size_t size, bool by_flag) {
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream user = test_stream(), other = test_stream();
    struct test_hold hold;
    void *block = by_flag ? complete(size, pool, user) : test_malloc(pool, size, user);
    test_hold(&hold, user);
    test_free(block, user);
    void *same = complete(size, pool, user), *others = complete(size, pool, other), *ours = NULL;
    EXPECT(poolMallocFromPool(&ours, size, pool), poolSuccess);
    REQUIRE(is_apart(block, same, size) && is_apart(block, others, size));
    REQUIRE(is_apart(block, ours, size) && is_apart(same, others, size));
    EXPECT(poolStreamQuery(other), poolSuccess); // it waits for nothing
    test_free(same, user);
    test_free(others, other);
    EXPECT(poolFree(ours), poolSuccess);
    test_let_go(&hold);
    close_pool(pool);
}

static void leave_pending_at(const struct test_place *place) {
    for (size_t i = 0; i + 1 < SIZES; i++) {
        leave_pending(place, sizes[i], false);
        leave_pending(place, sizes[i], true);
    }
}

void row_complete_only_leaves_memory_whose_last_use_is_pending(void) {
    for_each_place(leave_pending_at);
}

// Nothing but the pending block would do: the call is refused, whatever the policies and whoever
// asks, and changes nothing. Once the work is complete it is served, though nobody has said so: the
// pool asks its own stream, and others by the policy for that.
static void require_refused(poolMemPool_t pool, size_t size, CUstream stream, unsigned int flags) {
    struct test_figures before = test_figures(pool);
    void *pointer = pool;
    EXPECT(take(&pointer, size, pool, stream, flags), poolErrorMemoryAllocation);
    REQUIRE(pointer == (void *)pool);
    REQUIRE_FIGURES(pool, before);
}

static void wait_for_completion(const struct test_place *place, int policies, bool same) {
    poolMemPool_t pool = open_pool(place);
    CUstream user = test_stream(), other = test_stream();
    struct test_hold hold;
    void *pointer = NULL;
    test_set_all_policies(pool, policies);
    void *block = test_malloc(pool, MIB(24), user);
    test_hold(&hold, user);
    test_free(block, user);
    require_refused(pool, MIB(24), user, poolMallocDefault);
    require_refused(pool, MIB(24), other, poolMallocDefault);
    require_refused(pool, MIB(24), user, poolMallocNoGrowth);
    require_refused(pool, MIB(24), user, poolMallocFixed);
    require_refused(pool, MIB(24), user, poolMallocSameStreamOnly);
    EXPECT(poolMallocFromPool(&pointer, MIB(24), pool), poolErrorMemoryAllocation);
    EXPECT(poolStreamQuery(other), poolSuccess);
    test_let_go(&hold);
    test_finish(user);
    if (!policies && !same)
        EXPECT(poolStreamSynchronize(user), poolSuccess);
    EXPECT(take(&pointer, MIB(24), pool, same ? user : other, poolMallocNoGrowth), poolSuccess);
    REQUIRE(pointer == block);
    test_free(pointer, user);
    close_pool(pool);
}

static void wait_for_completion_at(const struct test_place *place) {
    for (int i = 0; i < 4; i++)
        wait_for_completion(place, i / 2, i % 2);
}

void row_complete_only_is_refused_until_the_last_use_is_complete(void) {
    for_each_place(wait_for_completion_at);
}

// Small blocks that are all that there is.
static void fill(poolMemPool_t pool, CUstream stream) {
    static const size_t fillers[] = {MIB(4), MIB(2), KIB(256), KIB(16), 512};
    void *pointer = NULL;
    for (size_t i = 0; i < sizeof fillers / sizeof fillers[0]; i++) {
        while (poolMallocFromPoolAsync(&pointer, fillers[i], pool, stream) == poolSuccess)
            continue;
    }
}

static void wait_for_small_at(const struct test_place *place) {
    for (size_t i = 0; i < 2; i++) {
        poolMemPool_t pool = open_pool(place);
        CUstream user = test_stream();
        struct test_hold hold;
        void *pointer = NULL;
        void *block = complete(sizes[i], pool, user);
        fill(pool, user);
        test_hold(&hold, user);
        test_free(block, user);
        require_refused(pool, sizes[i], user, poolMallocDefault);
        EXPECT(poolMallocFromPool(&pointer, sizes[i], pool), poolErrorMemoryAllocation);
        test_let_go(&hold);
        test_finish(user);
        EXPECT(poolMallocFromPool(&pointer, sizes[i], pool), poolSuccess);
        REQUIRE(pointer == block);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    }
}

void row_complete_only_is_refused_small_memory_whose_last_use_is_pending(void) {
    for_each_place(wait_for_small_at);
}

// ---------------------------------------------------------------------------- in no stream's order

// The legacy stream, on which it counts as allocated, has work pending, and so has a blocking one.
static void ignore_legacy_at(const struct test_place *place) {
    poolMemPool_t pool = open_pool(place);
    CUstream streams[] = {NULL, test_blocking_stream(), CU_STREAM_PER_THREAD};
    for (size_t i = 0; i < 3; i++) {
        struct test_hold hold;
        void *pointer = NULL;
        void *block = test_malloc(pool, MIB(24), streams[i]);
        test_hold(&hold, streams[i]);
        test_free(block, streams[i]);
        EXPECT(poolMallocFromPool(&pointer, MIB(24), pool), poolErrorMemoryAllocation);
        require_refused(pool, MIB(24), streams[i], poolMallocDefault);
        test_let_go(&hold);
        EXPECT(poolDeviceSynchronize(), poolSuccess);
        EXPECT(poolMallocFromPool(&pointer, MIB(24), pool), poolSuccess);
        REQUIRE(pointer == block);
        EXPECT(poolFree(pointer), poolSuccess);
        EXPECT(poolDeviceSynchronize(), poolSuccess);
    }
    close_pool(pool);
}

void row_memory_in_no_streams_order_is_not_that_of_pending_default_streams(void) {
    for_each_place(ignore_legacy_at);
}

static void take_in_no_order_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    void *blocks[SIZES];
    uint64_t used = 0;
    for (size_t i = 0; i < SIZES; i++) {
        EXPECT(poolMallocFromPool(&blocks[i], sizes[i], pool), poolSuccess);
        REQUIRE((uintptr_t)blocks[i] % 512 == 0);
        used += sizes[i];
        REQUIRE_EQUAL(test_used(pool), used);
    }
    for (size_t i = 0; i < SIZES; i++) {
        if (i % 2)
            test_free(blocks[i], stream);
        else
            EXPECT(poolFree(blocks[i]), poolSuccess);
    }
    REQUIRE_EQUAL(test_used(pool), 0);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_memory_in_no_streams_order_is_counted_and_freed_as_any_other(void) {
    for_each_place(take_in_no_order_at);
}

static void misuse_at(const struct test_place *place) {
    poolMemPool_t pool = test_limited_pool_at(place, MIB(32)), destroyed = test_pool_at(place);
    void *pointer = pool;
    EXPECT(poolMemPoolDestroy(destroyed), poolSuccess);
    EXPECT(poolMallocFromPool(NULL, 512, pool), poolErrorInvalidValue);
    EXPECT(poolMallocFromPool(&pointer, 512, NULL), poolErrorInvalidValue);
    EXPECT(poolMallocFromPool(&pointer, 512, destroyed), poolErrorInvalidValue);
    EXPECT(poolMallocFromPool(&pointer, MIB(33), pool), poolErrorMemoryAllocation);
    EXPECT(poolMallocFromPool(&pointer, (size_t)1 << 50, pool), poolErrorMemoryAllocation);
    EXPECT(poolMallocFromPool(&pointer, SIZE_MAX, pool), poolErrorMemoryAllocation);
    REQUIRE(pointer == (void *)pool);
    REQUIRE_FIGURES(pool, (struct test_figures){0});
    EXPECT(poolMallocFromPool(&pointer, 0, pool), poolSuccess);
    REQUIRE(!pointer);
}

void row_memory_in_no_streams_order_with_a_bad_argument_is_refused(void) {
    for_each_place(misuse_at);
}

// ---------------------------------------------------------------------------------------- the host

// The host writes to what it gets while copies from what it had are pending.
static void write_at_once_at(const struct test_place *place) {
    enum { ROUNDS = 6 };
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream stream = test_stream();
    CUdeviceptr device;
    struct test_hold hold;
    test_let_in(pool, 0); // else a copy is one of pageable memory, and waits for its turn
    test_let_in(pool, 0);
    DRIVER(test_driver()->cuMemAlloc(&device, ROUNDS * MIB(1)));
    test_hold(&hold, stream);
    for (unsigned i = 0; i < ROUNDS; i++) {
        void *block = NULL;
        if (i % 2)
            block = complete(MIB(1), pool, stream);
        else
            EXPECT(poolMallocFromPool(&block, MIB(1), pool), poolSuccess);
        test_host_fill(block, (unsigned char)(i + 1), MIB(1));
        DRIVER(test_driver()->cuMemcpyHtoDAsync(device + i * MIB(1), block, MIB(1), stream));
        test_free(block, stream);
    }
    test_let_go(&hold);
    test_finish(stream);
    for (unsigned i = 0; i < ROUNDS; i++)
        REQUIRE(test_is_filled((void *)(uintptr_t)(device + i * MIB(1)), (unsigned char)(i + 1),
                               MIB(1)));
    DRIVER(test_driver()->cuMemFree(device));
    close_pool(pool);
}

// A ring of buffers that the program waits for by CUDA's own call: what is complete is found.
static void loop_at(const struct test_place *place) {
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream stream = test_stream();
    CUdeviceptr device;
    test_let_in(pool, 0);
    DRIVER(test_driver()->cuMemAlloc(&device, MIB(4)));
    for (int round = 0; round < 8; round++) {
        void *block = NULL;
        EXPECT(poolMallocFromPool(&block, MIB(4), pool), poolSuccess);
        DRIVER(test_driver()->cuMemcpyHtoDAsync(device, block, MIB(4), stream));
        test_free(block, stream);
        DRIVER(test_driver()->cuStreamSynchronize(stream));
        REQUIRE(test_reserved(pool) <= MIB(8));
    }
    DRIVER(test_driver()->cuMemFree(device));
    close_pool(pool);
}

void row_a_loop_of_complete_memory_needs_no_more(void) {
    test_for_each_place(TEST_LIMITED, loop_at);
}

void row_the_host_writes_to_complete_memory_at_once(void) {
    test_for_each_place(TEST_LIMITED, write_at_once_at);
}

// ------------------------------------------------------------------------------------------
// waiting

static void wait_on_the_host_at(const struct test_place *place) {
    poolMemPool_t pool = open_pool(place);
    CUstream user = test_stream(), other = test_stream();
    struct test_hold hold;
    void *block = test_malloc(pool, MIB(24), user);
    test_set_attribute(pool, poolMemPoolAttrHostWaitMax, 1);
    test_hold(&hold, user);
    test_free(block, user);
    require_refused(pool, MIB(24), other, poolMallocDefault);
    require_refused(pool, MIB(24), user, poolMallocDefault);
    test_let_go(&hold);
    test_set_attribute(pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    void *again = complete(MIB(24), pool, other);
    REQUIRE(again == block);
    EXPECT(poolStreamQuery(user), poolSuccess);
    test_free(again, user);
    close_pool(pool);
}

void row_complete_only_waits_as_host_wait_max_allows(void) {
    for_each_place(wait_on_the_host_at);
}

// Blocks of all sizes, handed out in turn by the flag and by the stream's order, share no byte.
static void mix_at(const struct test_place *place) {
    enum { BLOCKS = 24 };
    poolMemPool_t pool = open_pool(place);
    CUstream stream = test_stream();
    void *blocks[BLOCKS];
    static const size_t mixed[] = {512, 700, KIB(20), KIB(300), KIB(900)};
    test_let_in(pool, 0);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            size_t size = mixed[(i + round) % 5];
            blocks[i] =
                (i + round) % 3 ? complete(size, pool, stream) : test_malloc(pool, size, stream);
            test_fill(blocks[i], (unsigned char)(i + 1), size, stream);
        }
        test_finish(stream);
        for (unsigned i = 0; i < BLOCKS; i++) {
            REQUIRE(test_is_filled(blocks[i], (unsigned char)(i + 1), mixed[(i + round) % 5]));
            test_free(blocks[i], stream);
        }
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
    }
    close_pool(pool);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_complete_memory_shares_no_byte_with_other_memory(void) {
    for_each_place(mix_at);
}
