// Rows of the flags of poolMallocAsyncWithFlags, of determinism, and of each statistic by its name.
#include <stdint.h>
#include <streampool/lists.h>
#include <string.h>
#include <time.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "support/check.h"

static void order(CUstream later, CUstream earlier) {
    CUevent event = test_event();
    EXPECT(poolEventRecord(event, earlier), poolSuccess);
    EXPECT(poolStreamWaitEvent(later, event, 0), poolSuccess);
}

// ------------------------------------------------------------------------------------------- flags

void row_same_stream_only_leaves_memory_of_other_streams(void) {
    struct scene scene;
    scene_open_pending(&scene, SCENE_LARGE);
    test_set_all_policies(scene.pool, 1);
    order(scene.b, scene.a);
    REQUIRE(!scene_gives_with(&scene, scene.b, poolMallocSameStreamOnly));
    EXPECT(poolStreamQuery(scene.a), poolErrorNotReady);
    REQUIRE(scene_gives_with(&scene, scene.a, poolMallocSameStreamOnly));
    test_free(scene.block, scene.a);
    REQUIRE(scene_gives_with(&scene, scene.b, poolMallocDefault));
    scene_require_order(&scene, scene.b);
}

void row_same_stream_only_takes_memory_on_which_nothing_is_pending(void) {
    struct scene scene;
    scene_open_pending(&scene, SCENE_LARGE);
    scene_let_go(&scene);
    REQUIRE(scene_gives_with(&scene, scene.b, poolMallocSameStreamOnly));
}

void row_no_inserted_waits_inserts_none(void) {
    struct scene scene;
    scene_open_pending(&scene, SCENE_LARGE);
    test_set_all_policies(scene.pool, 1);
    REQUIRE(!scene_gives_with(&scene, scene.b, poolMallocNoInsertedWaits));
    EXPECT(poolStreamQuery(scene.b), poolSuccess);
    order(scene.b, scene.a);
    REQUIRE(scene_gives_with(&scene, scene.b, poolMallocNoInsertedWaits));
    scene_require_order(&scene, scene.b);
}

void row_no_growth_takes_nothing_from_the_device(void) {
    static const size_t sizes[] = {1, KIB(300), MIB(3), MIB(64)};
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = NULL;
        EXPECT(poolMallocAsyncWithFlags(&pointer, sizes[i], pool, stream, poolMallocNoGrowth),
               poolErrorMemoryAllocation);
        REQUIRE(!pointer);
        REQUIRE_EQUAL(test_reserved(pool), 0);
    }
    void *block = test_malloc(pool, MIB(64), stream), *pointer = NULL;
    test_free(block, stream);
    EXPECT(poolMallocAsyncWithFlags(&pointer, MIB(64), pool, stream, poolMallocNoGrowth),
           poolSuccess);
    REQUIRE(pointer == block);
    EXPECT(poolMallocAsyncWithFlags(&pointer, MIB(64), pool, stream, poolMallocNoGrowth),
           poolErrorMemoryAllocation);
}

// Two extents side by side serve any other request of their size.
void row_a_fixed_block_is_not_put_together_of_two_extents(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    char *first = test_malloc(pool, MIB(64), stream), *second = test_malloc(pool, MIB(64), stream);
    test_free(first, stream);
    test_free(second, stream);
    uint64_t reserved = test_reserved(pool);
    void *fixed = NULL, *again = NULL;
    EXPECT(poolMallocAsyncWithFlags(&fixed, MIB(128), pool, stream, poolMallocFixed), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), reserved + MIB(128));
    test_fill(fixed, 4, MIB(128), stream);
    test_finish(stream);
    REQUIRE(test_is_filled(fixed, 4, MIB(128)));
    test_malloc(pool, MIB(128), stream);
    REQUIRE_EQUAL(test_reserved(pool), reserved + MIB(128));
    test_free(fixed, stream);
    EXPECT(poolMallocAsyncWithFlags(&again, MIB(128), pool, stream, poolMallocFixed), poolSuccess);
    REQUIRE(again == fixed);
}

void row_small_fixed_blocks_are_served_too(void) {
    static const size_t sizes[] = {1, 512, KIB(300), MIB(1)};
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = NULL;
        EXPECT(poolMallocAsyncWithFlags(&pointer, sizes[i], pool, stream, poolMallocFixed),
               poolSuccess);
        REQUIRE((uintptr_t)pointer % 512 == 0);
        REQUIRE_EQUAL(test_used(pool), sizes[i]);
        test_fill(pointer, 4, sizes[i], stream);
        test_finish(stream);
        REQUIRE(test_is_filled(pointer, 4, sizes[i]));
        test_free(pointer, stream);
    }
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_flags_widen_no_policy(void) {
    for (unsigned int flags = 0; flags < 32; flags++) {
        struct scene scene;
        scene_open_pending(&scene, SCENE_LARGE);
        order(scene.b, scene.a);
        REQUIRE(!scene_gives_with(&scene, scene.b, flags));
        scene_let_go(&scene);
    }
}

void row_unknown_flags_are_invalid_and_no_pool_is_the_current_one(void) {
    poolMemPool_t pool = test_default_pool(0);
    CUstream stream = test_stream();
    void *pointer = NULL;
    static const unsigned int unknown[] = {32, 1u << 31, ~0u};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        EXPECT(poolMallocAsyncWithFlags(&pointer, 512, pool, stream, unknown[i]),
               poolErrorInvalidValue);
    EXPECT(poolMallocAsyncWithFlags(NULL, 512, pool, stream, poolMallocDefault),
           poolErrorInvalidValue);
    REQUIRE(!pointer);
    REQUIRE_EQUAL(test_used(pool), 0);
    EXPECT(poolMallocAsyncWithFlags(&pointer, 512, NULL, stream, poolMallocDefault), poolSuccess);
    REQUIRE_EQUAL(test_used(pool), 512);
    EXPECT(poolMallocAsyncWithFlags(&pointer, 0, NULL, stream, poolMallocNoGrowth), poolSuccess);
    REQUIRE(!pointer);
}

// -------------------------------------------------------------------------------------- attributes

void row_own_attributes_have_their_defaults(void) {
    poolMemPool_t pool = test_pool();
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrHostWaitMax), 0);
    REQUIRE(test_flag(pool, poolMemPoolAttrDeterministic) == 0);
    REQUIRE(test_flag(pool, poolMemPoolAttrContextFence) == 0);
    REQUIRE(test_flag(pool, poolMemPoolAttrTrimByReaper) == 0);
    REQUIRE(test_flag(pool, poolMemPoolAttrReaper) == 1);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrReleaseDelay), 0);
    test_set_attribute(pool, poolMemPoolAttrReleaseDelay, UINT64_MAX);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrReleaseDelay), UINT64_MAX);
    test_set_attribute(pool, poolMemPoolAttrHostWaitMax, UINT64_MAX);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrHostWaitMax), UINT64_MAX);
    test_set_flag(pool, poolMemPoolAttrDeterministic, 7);
    REQUIRE(test_flag(pool, poolMemPoolAttrDeterministic) == 1);
    test_set_flag(pool, poolMemPoolAttrContextFence, -1);
    REQUIRE(test_flag(pool, poolMemPoolAttrContextFence) == 1);
}

void row_a_loop_with_a_release_delay_grows_in_its_first_round_alone(void) {
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    test_set_attribute(pool, poolMemPoolAttrReleaseDelay, 2);
    for (unsigned i = 0; i < 8; i++) {
        void *block = test_malloc(pool, GIB(1), stream);
        test_fill(block, (unsigned char)i, KIB(64), stream);
        test_free(block, stream);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
        REQUIRE_EQUAL(test_reserved(pool), GIB(1));
    }
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatGrowths), 1);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), GIB(1));
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

// ---------------------------------------------------------------------------------------- promises

enum {
    NOT_NOW = poolPromiseStreamDestroy | poolPromiseNoCapture,
    ALL_PROMISES =
        NOT_NOW | poolPromiseNeverCapture | poolPromiseOneContext | poolPromiseNoLegacyOrder
};

void row_promises_are_none_at_first_and_can_be_combined(void) {
    poolMemPool_t pool = test_pool();
    int unknown = ALL_PROMISES + 1;
    REQUIRE(test_flag(pool, poolMemPoolAttrStreamPromises) == poolPromiseNothing);
    for (int promises = ALL_PROMISES; promises >= 0; promises--) {
        test_set_flag(pool, poolMemPoolAttrStreamPromises, promises);
        REQUIRE(test_flag(pool, poolMemPoolAttrStreamPromises) == promises);
    }
    EXPECT(poolMemPoolSetAttribute(pool, poolMemPoolAttrStreamPromises, &unknown),
           poolErrorInvalidValue);
    REQUIRE(test_flag(pool, poolMemPoolAttrStreamPromises) == poolPromiseNothing);
}

static void give_to_promised_streams(size_t size) {
    struct scene scene;
    scene_open_pending(&scene, size);
    test_set_flag(scene.pool, poolMemPoolAttrStreamPromises, ALL_PROMISES);
    for (unsigned round = 0; round < 3; round++) {
        REQUIRE(!scene_gives(&scene, scene.b));
        REQUIRE(scene_gives(&scene, scene.a));
        test_fill(scene.block, 3, size, scene.a);
        test_free(scene.block, scene.a);
    }
    scene_let_go(&scene);
    REQUIRE(scene_gives(&scene, scene.b));
}

void row_promised_streams_are_given_the_memory_that_they_freed(void) {
    scene_for_each_size(give_to_promised_streams);
}

// Where the driver can't tell the two streams apart, the young one is made to wait.
static void recycle_a_promised_stream(size_t size) {
    struct scene scene;
    struct test_spin spin;
    scene_open(&scene, size);
    test_set_flag(scene.pool, poolMemPoolAttrStreamPromises, ALL_PROMISES);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    test_spin(&spin, scene.a);
    test_fill(scene.block, 2, size, scene.a);
    test_free(scene.block, scene.a);
    EXPECT(poolStreamDestroy(scene.a), poolSuccess);
    CUstream young = test_stream();
    for (unsigned few = 0; few < 5 && young != scene.a; few++)
        young = test_stream();
    bool given = scene_gives(&scene, young);
    REQUIRE(!given || !test_driver()->cuStreamGetId);
    REQUIRE(!given || poolStreamQuery(young) == poolErrorNotReady);
    test_stop_spinning(&spin);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(given || scene_gives(&scene, young));
}

void row_a_new_stream_at_a_promised_ones_handle_inherits_no_memory(void) {
    scene_for_each_size(recycle_a_promised_stream);
}

void row_a_promise_is_of_one_pool(void) {
    poolMemPool_t promised = test_pool(), other = test_pool();
    CUstream stream = test_stream();
    CUgraph graph = NULL;
    void *pointer = NULL;
    test_set_flag(promised, poolMemPoolAttrStreamPromises, NOT_NOW);
    test_free(test_malloc(promised, MIB(1), stream), stream);
    void *block = test_malloc(other, MIB(1), stream);
    DRIVER(test_driver()->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(1), other, stream),
           poolErrorStreamCaptureUnsupported);
    EXPECT(poolFreeAsync(block, stream), poolErrorInvalidValue);
    DRIVER(test_driver()->cuStreamEndCapture(stream, &graph));
    test_free(block, stream);
}

// -------------------------------------------------------------------------------------- the others

// Whether a pool comes to hold so many bytes, which takes the reaper some milliseconds.
static bool comes_to_hold(poolMemPool_t pool, uint64_t bytes) {
    for (unsigned i = 0; i < 5000 && test_reserved(pool) > bytes; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    return test_reserved(pool) == bytes;
}

void row_a_trim_left_to_the_reaper_comes_to_the_threshold(void) {
    test_require_virtual_memory();
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    test_set_flag(pool, poolMemPoolAttrTrimByReaper, 1);
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, MIB(34));
    void *blocks[8];
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = test_malloc(pool, MIB(32), stream);
    for (unsigned i = 0; i < 8; i++)
        test_free(blocks[i], stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE(comes_to_hold(pool, MIB(34)));
    EXPECT(poolMemPoolTrimTo(pool, 0),
           poolSuccess); // takes its turn behind the reaper, which has counted by then
    REQUIRE_EQUAL(test_reserved(pool), 0);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatBytesReleasedByReaper), MIB(256 - 34));
    REQUIRE(test_attribute(pool, poolMemPoolStatReaperTime) > 0);
}

#define STEPS  60
#define BLOCKS 8

// What a program got: where each block lies, and the reserved bytes beside it. The place is the
// distance from the first block; where the driver chose the address of each piece of memory it is
// the first step that got the same address.
struct account {
    uint64_t place[STEPS];
    uint64_t reserved[STEPS];
};

static uint64_t place_of(const uintptr_t addresses[STEPS], unsigned step, bool mapped) {
    uint64_t first = 0;
    while (addresses[first] != addresses[step])
        first++;
    return mapped ? addresses[step] - addresses[0] : first;
}

// One program, on a device that is fast (all is complete before the next call) or slow (nothing is
// before it must be).
static void keep_account(struct account *account, bool fast) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream streams[3] = {test_stream(), test_stream(), test_stream()};
    void *blocks[BLOCKS] = {NULL};
    uintptr_t addresses[STEPS];
    bool mapped = test_flag(pool, poolMemPoolAttrVirtualMemory) != 0;
    struct test_hold hold;
    bool held = false;
    test_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    for (unsigned i = 0; i < STEPS; i++) {
        CUstream stream = streams[i * 7 % 3];
        void **block = &blocks[i * 5 % BLOCKS];
        if (!fast && !held) {
            test_hold(&hold, streams[0]);
            held = true;
        }
        if (*block)
            test_free(*block, stream);
        *block =
            test_malloc(pool, i % 4 == 3 ? KIB(100) : MIB(3) * (1 + i * 11 % 13), streams[i % 3]);
        addresses[i] = (uintptr_t)*block;
        account->place[i] = place_of(addresses, i, mapped);
        account->reserved[i] = test_reserved(pool);
        if (fast) {
            for (unsigned s = 0; s < 3; s++)
                test_finish(streams[s]);
        }
        if (i % 20 != 19)
            continue;
        if (held)
            test_let_go(&hold);
        held = false;
        EXPECT(poolDeviceSynchronize(), poolSuccess);
    }
    if (held)
        test_let_go(&hold);
    for (unsigned i = 0; i < BLOCKS; i++)
        test_free(blocks[i], streams[0]);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess); // the next one finds the same address space
}

void row_a_deterministic_pool_does_the_same_on_a_fast_and_a_slow_device(void) {
    static struct account fast, slow;
    keep_account(&fast, true);
    keep_account(&slow, false);
    REQUIRE(memcmp(&fast, &slow, sizeof fast) == 0);
}

void row_a_deterministic_pool_takes_what_a_synchronise_has_shown(void) {
    struct scene scene;
    scene_open_pending(&scene, SCENE_LARGE);
    test_set_flag(scene.pool, poolMemPoolReuseAllowOpportunistic, 1);
    test_set_flag(scene.pool, poolMemPoolAttrDeterministic, 1);
    test_let_go(&scene.hold);
    test_finish(scene.a);
    EXPECT(poolStreamQuery(scene.a), poolSuccess);
    REQUIRE(!scene_gives(&scene, scene.b));
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE(scene_gives(&scene, scene.b));
}

void row_a_deterministic_pool_takes_what_a_stream_synchronise_has_shown(void) {
    struct scene scene;
    scene_open(&scene, SCENE_LARGE);
    test_set_flag(scene.pool, poolMemPoolAttrDeterministic, 1);
    test_free(scene.block, scene.a);
    EXPECT(poolStreamSynchronize(scene.b), poolSuccess);
    REQUIRE(!scene_gives(&scene, scene.b));
    EXPECT(poolStreamSynchronize(scene.a), poolSuccess);
    REQUIRE(scene_gives(&scene, scene.b));
}

// -------------------------------------------------------------------------------------- statistics

static const enum poolMemPoolAttr statistics[] = {
#define STATISTIC(name, number, text) poolMemPoolStat##name,
    STREAMPOOL_POOL_STATISTICS(STATISTIC)
#undef STATISTIC
};
enum { STATISTICS = sizeof statistics / sizeof statistics[0] };

static enum poolMemPoolAttr statistic_of_name(const char *name) {
    for (unsigned i = 0; i < STATISTICS; i++) {
        const char *known = poolMemPoolGetStatisticName(statistics[i]);
        REQUIRE(known);
        if (strcmp(known, name) == 0)
            return statistics[i];
    }
    test_fail(__FILE__, __LINE__, "no statistic has the name %s", name);
}

static void count_anew(poolMemPool_t pool) {
    for (unsigned i = 0; i < STATISTICS; i++) {
        test_set_attribute(pool, statistics[i], 0);
        REQUIRE_EQUAL(test_attribute(pool, statistics[i]), 0);
    }
}

static void require_count(poolMemPool_t pool, const char *name, uint64_t expected) {
    test_set_context("%s", name);
    REQUIRE_EQUAL(test_attribute(pool, statistic_of_name(name)), expected);
    test_set_context("%s", "");
}

// Of what allocations are counted by, this one counts one, and the others none. A growth after a
// trim is a growth.
static void require_one(poolMemPool_t pool, const char *name) {
    static const char *const exclusive[] = {
        "ReuseSameStream",  "ReuseComplete",    "ReuseOrdered", "ReuseFoundComplete",
        "ReuseMadeOrdered", "GrowthsAfterTrim", "OtherRegion",  "Failures"};
    for (size_t i = 0; i < sizeof exclusive / sizeof exclusive[0]; i++)
        require_count(pool, exclusive[i], strcmp(exclusive[i], name) == 0);
    require_count(pool, "Growths", strncmp(name, "Growths", 7) == 0);
}

static void open_counting(struct scene *scene) {
    scene_open_pending(scene, SCENE_LARGE);
    count_anew(scene->pool);
}

void row_statistics_are_read_by_name_and_set_to_0_alone(void) {
    uint64_t one = 1;
    poolMemPool_t pool = test_pool();
    for (unsigned i = 0; i < STATISTICS; i++) {
        REQUIRE(statistic_of_name(poolMemPoolGetStatisticName(statistics[i])) == statistics[i]);
        REQUIRE_EQUAL(test_attribute(pool, statistics[i]), 0);
        EXPECT(poolMemPoolSetAttribute(pool, statistics[i], &one), poolErrorInvalidValue);
    }
    REQUIRE(!poolMemPoolGetStatisticName(poolMemPoolAttrReleaseThreshold));
    REQUIRE(!poolMemPoolGetStatisticName((enum poolMemPoolAttr)(statistics[STATISTICS - 1] + 1)));
}

void row_statistic_reuse_same_stream_counts_the_streams_own_memory(void) {
    static const size_t sizes[] = {100, KIB(300), MIB(3), MIB(64)};
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        poolMemPool_t pool = test_keeping_pool();
        test_free(test_malloc(pool, sizes[i], stream), stream);
        count_anew(pool);
        test_malloc(pool, sizes[i], stream);
        require_one(pool, "ReuseSameStream");
    }
}

void row_statistic_reuse_complete_counts_memory_known_to_be_complete(void) {
    struct scene scene;
    open_counting(&scene);
    scene_let_go(&scene);
    REQUIRE(scene_gives(&scene, scene.b));
    require_one(scene.pool, "ReuseComplete");
}

void row_statistic_reuse_ordered_counts_memory_that_the_stream_runs_after(void) {
    struct scene scene;
    open_counting(&scene);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    order(scene.b, scene.a);
    REQUIRE(scene_gives(&scene, scene.b));
    require_one(scene.pool, "ReuseOrdered");
    scene_require_order(&scene, scene.b);
}

// The first time that a stream finds nothing in a shared pool it asks on behalf of the others too,
// before its own turn to ask comes; so that is brought about before.
void row_statistic_reuse_found_complete_counts_memory_that_a_question_found(void) {
    struct scene scene;
    open_counting(&scene);
    test_set_flag(scene.pool, poolMemPoolReuseAllowOpportunistic, 1);
    REQUIRE(!scene_gives(&scene, scene.b));
    count_anew(scene.pool);
    test_let_go(&scene.hold);
    test_finish(scene.a);
    REQUIRE(scene_gives(&scene, scene.b));
    require_one(scene.pool, "ReuseFoundComplete");
}

void row_statistic_reuse_made_ordered_counts_memory_that_a_wait_brought(void) {
    struct scene scene;
    open_counting(&scene);
    test_set_flag(scene.pool, poolMemPoolReuseAllowInternalDependencies, 1);
    REQUIRE(scene_gives(&scene, scene.b));
    require_one(scene.pool, "ReuseMadeOrdered");
    scene_require_order(&scene, scene.b);
}

void row_statistic_waits_inserted_counts_the_waits(void) {
    struct scene scene;
    open_counting(&scene);
    test_set_flag(scene.pool, poolMemPoolReuseAllowInternalDependencies, 1);
    test_set_flag(scene.pool, poolMemPoolReuseFollowEventDependencies, 1);
    require_count(scene.pool, "WaitsInserted", 0);
    REQUIRE(scene_gives(&scene, scene.b));
    require_count(scene.pool, "WaitsInserted", 1);
    test_free(scene.block, scene.b);
    REQUIRE(scene_gives(&scene, scene.b));
    require_count(scene.pool, "WaitsInserted", 1);
    scene_require_order(&scene, scene.b);
}

void row_statistic_growths_counts_what_was_mapped(void) {
    static const size_t sizes[] = {100, MIB(3), MIB(64)};
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        poolMemPool_t pool = test_keeping_pool();
        test_malloc(pool, sizes[i], stream);
        require_one(pool, "Growths");
    }
}

// Half of the pool is free and complete, and of no use to a block that must lie in one extent.
void row_statistic_growths_after_trim_counts_what_caches_made_room_for(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(128));
    CUstream stream = test_stream();
    void *fixed = NULL;
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    void *half = test_malloc(pool, MIB(64), stream);
    test_malloc(pool, MIB(64), stream);
    test_free(half, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    count_anew(pool);
    EXPECT(poolMallocAsyncWithFlags(&fixed, MIB(64), pool, stream, poolMallocFixed), poolSuccess);
    require_one(pool, "GrowthsAfterTrim");
}

// The small block is one without an event behind it, so that only the whole context can be waited
// for.
void row_statistic_context_fences_counts_waits_for_a_whole_context(void) {
    struct scene scene;
    scene_open(&scene, SCENE_SMALL);
    test_set_attribute(scene.pool, poolMemPoolAttrUnfencedBytesMax, UINT64_MAX);
    test_set_flag(scene.pool, poolMemPoolReuseAllowInternalDependencies, 1);
    scene_free_held(&scene, scene.a);
    count_anew(scene.pool);
    if (!test_driver()->cuStreamGetId || !test_driver()->cuCtxRecordEvent) {
        REQUIRE(scene_gives(&scene, scene.b) == !test_driver()->cuStreamGetId);
        require_count(scene.pool, "ContextFences", 0);
        scene_let_go(&scene);
        return;
    }
    REQUIRE(!scene_gives(&scene, scene.b));
    require_count(scene.pool, "ContextFences", 0);
    test_set_flag(scene.pool, poolMemPoolAttrContextFence, 1);
    REQUIRE(scene_gives(&scene, scene.b));
    require_count(scene.pool, "ContextFences", 1);
    EXPECT(poolStreamQuery(scene.b), poolErrorNotReady);
    scene_require_order(&scene, scene.b);
}

void row_statistic_host_waits_counts_allocations_that_waited(void) {
    struct scene scene;
    open_counting(&scene);
    REQUIRE(!scene_gives(&scene, scene.b));
    require_count(scene.pool, "HostWaits", 0);
    test_set_attribute(scene.pool, poolMemPoolAttrHostWaitMax, 1);
    REQUIRE(!scene_gives(&scene, scene.b));
    require_count(scene.pool, "HostWaits", 1);
    scene_let_go(&scene);
}

void row_statistic_other_region_counts_small_blocks_out_of_large_memory(void) {
    poolMemPool_t pool = test_pool_of_at_most(MIB(32));
    CUstream stream = test_stream();
    struct test_hold hold; // so that the memory can't go back to the device instead
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    void *block = test_malloc(pool, MIB(32), stream);
    test_hold(&hold, stream);
    test_free(block, stream);
    count_anew(pool);
    test_malloc(pool, 100, stream);
    require_one(pool, "OtherRegion");
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
}

void row_statistic_events_recorded_counts_the_events_behind_frees(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    test_set_attribute(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    void *blocks[3];
    for (unsigned i = 0; i < 3; i++)
        blocks[i] = test_malloc(pool, MIB(2), stream);
    count_anew(pool);
    for (unsigned i = 0; i < 3; i++)
        test_free(blocks[i], stream);
    require_count(pool, "EventsRecorded", 3);
}

void row_statistic_failures_counts_allocations_that_found_no_memory(void) {
    struct scene scene;
    open_counting(&scene);
    REQUIRE(!scene_gives(&scene, scene.b));
    require_one(scene.pool, "Failures");
    scene_let_go(&scene);
}
