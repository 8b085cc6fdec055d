// What swap.h says: contents come back, tags pause apart and together, levels, limits of the host,
// what is refused.
#include "swap/fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static poolMemPool_t pool;
static CUstream a, b;

static int begin_with(const char *settings) {
    if (swap_begin(settings) != 0)
        return -1;
    poolGetLastError();
    pool = fixture_pool();
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

static int begin(void **state) {
    (void)state;
    return begin_with(NULL);
}

static int begin_with_two_devices(void **state) {
    (void)state;
    return begin_with("devices=2");
}

static int finish(void **state) {
    if (pool) {
        copy_good(poolMemPoolDestroyTagged(pool, NULL));
        copy_good(poolMemPoolDestroy(pool));
    }
    return swap_teardown(state);
}

// ---------------------------------------------------------------------------------------- contents

static void contents_of_all_sizes_come_back(void **state) {
    (void)state;
    static const size_t sizes[] = {1,           17,      512,          700,    4096,
                                   KIB(57),     KIB(64), KIB(100) + 3, MIB(1), MIB(2) + 512,
                                   MIB(5) + 77, MIB(20), 513,          MIB(3)};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    struct swap_block blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        blocks[i] = swap_block(pool, sizes[i], i, i % 2 ? a : b);
    for (int round = 0; round < 3; round++) {
        struct poolMemPoolPaused paused = swap_pause(pool, NULL, poolPauseSave);
        assert_int_equal(paused.pools, 1);
        assert_true(paused.hostBytes >= fixture_used(pool));
        assert_int_equal(paused.hostBytes, swap_in_host());
        assert_int_equal(paused.fileBytes, 0);
        assert_int_equal(paused.discardedBytes, 0);
        assert_int_equal(paused.stayedBytes, 0);
        assert_int_equal(fixture_reserved(pool), 0);
        for (size_t i = 0; i < COUNT; i++)
            assert_false(swap_has_memory(&blocks[i]));
        swap_resume(pool, NULL);
        assert_int_equal(swap_in_host(), 0);
        assert_int_equal(swap_paused(pool, NULL).pools, 0);
        for (size_t i = 0; i < COUNT; i++)
            assert_true(swap_is_intact(&blocks[i]));
    }
    for (size_t i = 0; i < COUNT; i++)
        swap_free(&blocks[i], a);
}

static void blocks_that_are_freed_meanwhile_do_not_come_back(void **state) {
    (void)state;
    enum { COUNT = 40 };
    struct swap_block blocks[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        blocks[i] = swap_block(pool, i % 3 == 0 ? 700 : MIB(1) / 2 * (i % 5 + 1), i, a);
    swap_pause(pool, NULL, poolPauseSave);
    for (size_t i = 0; i < COUNT; i += 2)
        swap_free(&blocks[i], b);
    swap_resume(pool, NULL);
    for (size_t i = 1; i < COUNT; i += 2)
        assert_true(swap_is_intact(&blocks[i]));
    swap_pause(pool, NULL, poolPauseSave);
    for (size_t i = 1; i < COUNT; i += 2)
        swap_free(&blocks[i], b);
    swap_resume(pool, NULL);
    assert_int_equal(swap_in_host(), 0);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_pool_without_blocks_pauses(void **state) {
    (void)state;
    void *pointer = NULL;
    assert_int_equal(swap_pause(pool, NULL, poolPauseSave).pools, 1);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1, pool, a), poolErrorIllegalState);
    swap_resume(pool, NULL);
    fixture_free(fixture_malloc(pool, 1, a), a);
}

static struct poolMemRange part(const struct swap_block *block, size_t from, size_t to) {
    return (struct poolMemRange){block->pointer + from, to - from};
}

static void unwanted_ranges_are_not_saved(void **state) {
    (void)state;
    struct swap_block blocks[4];
    struct poolMemPoolPaused paused;
    for (size_t i = 0; i < 4; i++)
        blocks[i] = swap_block(pool, MIB(4), i, a);
    const struct poolMemRange unwanted[] = {
        part(&blocks[2], 0, MIB(4)),                  // all
        part(&blocks[0], MIB(1) + 5, MIB(2)),         // a part,
        part(&blocks[0], MIB(1) + 100, MIB(1) + 200), // and a part of that
        part(&blocks[0], MIB(2), MIB(2) + 1),         // and one that follows
        part(&blocks[3], MIB(3), MIB(40)),            // beyond the end
        part(&blocks[1], 77, 77),                     // nothing
        {NULL, 4096},
    };
    copy_good(poolMemPoolPause(pool, "", poolPauseSave, unwanted, 7, &paused));
    assert_int_equal(paused.discardedBytes, MIB(4) + (MIB(1) - 5 + 1) + MIB(1));
    assert_in_range(paused.hostBytes, MIB(16) - paused.discardedBytes,
                    MIB(16) - paused.discardedBytes + 3 * KIB(4));
    swap_resume(pool, "");
    assert_true(swap_is_intact_from(&blocks[0], 0, MIB(1) + 5));
    assert_true(swap_is_intact_from(&blocks[0], MIB(2) + 1, MIB(4)));
    assert_false(swap_is_intact_from(&blocks[0], MIB(1) + 5, MIB(2) + 1));
    assert_true(swap_is_intact(&blocks[1]));
    assert_false(swap_is_intact_from(&blocks[2], 0, 4096));
    assert_true(swap_is_intact_from(&blocks[3], 0, MIB(3)));
    for (size_t i = 0; i < 4; i++)
        swap_free(&blocks[i], a);
}

static void fixed_blocks_stay_with_their_contents(void **state) {
    (void)state;
    void *fixed = NULL;
    struct swap_block other = swap_block(pool, MIB(4), 1, a);
    copy_good(poolMallocAsyncWithFlags(&fixed, MIB(6), pool, a, poolMallocFixed));
    assert_int_equal(swap_pause(pool, NULL, poolPauseSave).stayedBytes, MIB(6));
    assert_int_equal(swap_paused(pool, NULL).stayedBytes, MIB(6));
    assert_int_equal(swap_pause(pool, NULL, poolPauseSave).stayedBytes, MIB(6));
    swap_resume(pool, NULL);
    assert_int_equal(swap_paused(pool, NULL).stayedBytes, 0);
    assert_true(swap_is_intact(&other));
    fixture_free(fixed, a);
    swap_free(&other, a);
}

// ------------------------------------------------------------------------------------------ levels

static void what_is_discarded_takes_nothing_of_the_host(void **state) {
    (void)state;
    struct swap_block block = swap_block(pool, MIB(4), 1, a);
    struct poolMemPoolPaused paused = swap_pause(pool, NULL, poolPauseDiscard);
    assert_int_equal(paused.discardedBytes, MIB(4));
    assert_int_equal(paused.hostBytes + paused.fileBytes, 0);
    assert_false(swap_has_memory(&block));
    swap_resume(pool, NULL);
    assert_true(swap_has_memory(&block));
    assert_false(swap_is_intact(&block));
    swap_free(&block, a);
}

static void a_pool_that_is_paused_stays_so(void **state) {
    (void)state;
    struct swap_block block = swap_block(pool, MIB(4), 1, a);
    swap_resume(pool, NULL); // of one that isn't
    assert_true(swap_is_intact(&block));
    struct poolMemPoolPaused first = swap_pause(pool, NULL, poolPauseSave);
    uint64_t copies = simcudaCallCount("cuMemcpyDtoHAsync"),
             unmaps = simcudaCallCount("cuMemUnmap");
    struct poolMemPoolPaused second = swap_pause(pool, NULL, poolPauseSave);
    assert_memory_equal(&first, &second, sizeof first);
    assert_int_equal(simcudaCallCount("cuMemcpyDtoHAsync"), copies);
    assert_int_equal(simcudaCallCount("cuMemUnmap"), unmaps);
    swap_resume(pool, NULL);
    swap_resume(pool, NULL);
    assert_true(swap_is_intact(&block));
    swap_free(&block, a);
}

static void what_was_saved_can_be_discarded(void **state) {
    (void)state;
    struct swap_block block = swap_block(pool, MIB(4), 1, a);
    const struct poolMemRange unwanted = part(&block, 0, MIB(1));
    copy_good(poolMemPoolPause(pool, NULL, poolPauseSave, &unwanted, 1, NULL));
    struct poolMemPoolPaused paused = swap_pause(pool, NULL, poolPauseDiscard);
    assert_int_equal(paused.discardedBytes, MIB(4));
    assert_int_equal(paused.hostBytes, 0);
    assert_int_equal(swap_in_host(), 0);
    swap_resume(pool, NULL);
    assert_false(swap_is_intact(&block));
    swap_free(&block, a);
}

static void what_was_discarded_is_not_saved(void **state) {
    (void)state;
    struct swap_block block = swap_block(pool, MIB(4), 1, a);
    swap_pause(pool, NULL, poolPauseDiscard);
    struct poolMemPoolPaused paused = swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(paused.discardedBytes, MIB(4));
    assert_int_equal(paused.hostBytes, 0);
    swap_resume(pool, NULL);
    swap_free(&block, a);
}

// -------------------------------------------------------------------------------------------- tags

static void tags_pause_apart_and_together(void **state) {
    (void)state;
    poolMemPool_t weights = swap_tagged(pool, "weights"), cache = swap_tagged(pool, "cache");
    assert_ptr_equal(swap_tagged(pool, "weights"), weights);
    assert_ptr_equal(swap_tagged(pool, NULL), pool);
    assert_ptr_equal(swap_tagged(pool, ""), pool);
    struct swap_block own = swap_block(pool, MIB(3), 1, a);
    struct swap_block of_weights = swap_block(weights, MIB(4), 2, a);
    struct swap_block of_cache = swap_block(cache, MIB(5), 3, a);
    swap_pause(pool, "weights", poolPauseSave);
    assert_true(swap_is_intact(&own) && swap_is_intact(&of_cache));
    assert_false(swap_has_memory(&of_weights));
    swap_pause(pool, "cache", poolPauseDiscard);
    assert_true(swap_is_intact(&own));
    assert_int_equal(swap_paused(pool, "").pools, 0);
    assert_int_equal(swap_paused(pool, "cache").discardedBytes, MIB(5));
    struct poolMemPoolPaused paused = swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(paused.pools, 3);
    assert_int_equal(paused.hostBytes, MIB(7));
    assert_int_equal(paused.discardedBytes, MIB(5));
    assert_int_equal(simcudaMemoryInUse(0), 0);
    swap_resume(pool, "");
    assert_true(swap_is_intact(&own));
    assert_false(swap_has_memory(&of_weights) || swap_has_memory(&of_cache));
    swap_resume(weights, NULL); // by its own handle
    assert_true(swap_is_intact(&of_weights));
    swap_resume(pool, NULL);
    assert_true(swap_has_memory(&of_cache));
    assert_int_equal(swap_paused(pool, NULL).pools, 0);
    swap_free(&own, a);
    swap_free(&of_weights, a);
    swap_free(&of_cache, a);
}

static void a_tagged_pool_is_like_its_pool(void **state) {
    (void)state;
    struct poolMemAccessDesc peer = {{poolMemLocationTypeDevice, 1}, poolMemAccessFlagsProtRead};
    enum poolMemAccessFlags flags = poolMemAccessFlagsProtNone;
    char name[STREAMPOOL_NAME_BYTES];
    poolMemPool_t limited = fixture_pool_of_at_most(MIB(64));
    fixture_set(limited, poolMemPoolAttrReleaseDelay, 3);
    fixture_set_flag(limited, poolMemPoolReuseAllowInternalDependencies, 0);
    copy_good(poolMemPoolSetAccess(limited, &peer, 1));
    copy_good(poolMemPoolSetName(limited, "base"));
    poolMemPool_t tagged = swap_tagged(limited, "a b");
    assert_int_equal(fixture_attribute(tagged, poolMemPoolAttrMaxPoolSize), MIB(64));
    assert_int_equal(fixture_attribute(tagged, poolMemPoolAttrReleaseDelay), 3);
    assert_int_equal(fixture_attribute(tagged, poolMemPoolAttrReleaseThreshold), UINT64_MAX);
    int allows = 1;
    copy_good(poolMemPoolGetAttribute(tagged, poolMemPoolReuseAllowInternalDependencies, &allows));
    assert_int_equal(allows, 0);
    copy_good(poolMemPoolGetAccess(&flags, tagged, &peer.location));
    assert_int_equal(flags, poolMemAccessFlagsProtRead);
    copy_good(poolMemPoolGetName(tagged, name, sizeof name));
    assert_string_equal(name, "base/a b");
    copy_good(
        poolMemPoolSetName(limited, "a name of a pool that is so long that no tag fits behind it"));
    copy_good(poolMemPoolGetName(swap_tagged(limited, "another"), name, sizeof name));
    assert_string_equal(name, "another");
    assert_int_equal(poolPeekAtLastError(), poolSuccess);
    copy_good(poolMemPoolDestroyTagged(limited, NULL));
    copy_good(poolMemPoolDestroy(limited));
}

static void pools_and_tagged_pools_end_in_any_order(void **state) {
    (void)state;
    poolMemPool_t one = swap_tagged(pool, "one"), two = swap_tagged(pool, "two");
    struct swap_block of_one = swap_block(one, MIB(3), 1, a);
    struct swap_block of_two = swap_block(two, MIB(4), 2, a);
    swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(swap_in_host(), MIB(7));
    copy_good(poolMemPoolDestroy(one));
    assert_int_equal(swap_paused(pool, NULL).pools, 2);
    assert_int_equal(swap_in_host(), MIB(4));
    copy_refused(poolMemPoolResume(pool, "one"), poolErrorInvalidValue, "no tag one");
    assert_ptr_not_equal(swap_tagged(pool, "one"), one); // a new one
    copy_good(poolMemPoolDestroy(pool));
    swap_resume(two, NULL); // goes on alone
    assert_true(swap_is_intact(&of_two));
    poolMemPool_t sub = swap_tagged(two, "sub"); // a pool like others
    swap_pause(two, NULL, poolPauseSave);
    copy_good(poolMemPoolDestroyTagged(two, "sub"));
    assert_int_equal(poolMemPoolDestroy(sub), poolErrorInvalidValue);
    swap_resume(two, NULL);
    swap_free(&of_one, a);
    swap_free(&of_two, a);
    pool = two;
}

static void a_tagged_pool_is_destroyed_with_what_was_saved(void **state) {
    (void)state;
    poolMemPool_t one = swap_tagged(pool, "one"), two = swap_tagged(pool, "two");
    struct swap_block of_one = swap_block(one, MIB(3), 1, a);
    struct swap_block of_two = swap_block(two, MIB(4), 2, a);
    swap_pause(pool, NULL, poolPauseSave);
    copy_good(poolMemPoolDestroyTagged(pool, "one"));
    assert_int_equal(swap_in_host(), MIB(4));
    copy_good(poolMemPoolDestroyTagged(pool, NULL));
    copy_good(poolMemPoolDestroyTagged(pool, NULL));
    assert_int_equal(swap_in_host(), 0);
    assert_int_equal(poolMemPoolDestroy(two), poolErrorInvalidValue);
    swap_resume(pool, NULL);
    swap_free(&of_one, a);
    swap_free(&of_two, a);
}

static void a_pool_has_64_tags(void **state) {
    (void)state;
    char tag[16];
    struct swap_block blocks[64];
    poolMemPool_t tagged = NULL;
    for (unsigned i = 0; i < 64; i++) {
        snprintf(tag, sizeof tag, "tag %u", i);
        blocks[i] = swap_block(swap_tagged(pool, tag), 700, i, a);
    }
    copy_refused(poolMemPoolGetTagged(pool, "more", &tagged), poolErrorMemoryAllocation,
                 "64 tags already");
    assert_int_equal(swap_pause(pool, NULL, poolPauseSave).pools, 65);
    assert_int_equal(simcudaMemoryInUse(0), 0);
    swap_resume(pool, NULL);
    for (unsigned i = 0; i < 64; i++) {
        assert_true(swap_is_intact(&blocks[i]));
        swap_free(&blocks[i], a);
    }
}

// ------------------------------------------------------------------------------- all, or nothing

static void all_pools_pause_or_none(void **state) {
    (void)state;
    poolMemPool_t tagged = swap_tagged(pool, "tag");
    struct swap_block own = swap_block(pool, MIB(3), 1, a);
    struct swap_block other = swap_block(tagged, MIB(3), 2, a);
    copy_good(poolSwapSetHostLimit(MIB(5)));
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL),
                 poolErrorMemoryAllocation, "3145728 bytes to save, and 2097152 of the host");
    assert_int_equal(poolGetLastError(), poolErrorMemoryAllocation);
    assert_int_equal(swap_paused(pool, NULL).pools, 0);
    assert_int_equal(swap_in_host(), 0);
    assert_true(swap_is_intact(&own) && swap_is_intact(&other));
    fixture_free(fixture_malloc(pool, MIB(1), a), a);
    copy_good(poolSwapSetHostLimit(MIB(6)));
    assert_int_equal(swap_pause(pool, NULL, poolPauseSave).hostBytes, MIB(6));
    swap_resume(pool, NULL);
    assert_true(swap_is_intact(&own) && swap_is_intact(&other));
    swap_free(&own, a);
    swap_free(&other, a);
}

static void all_pools_resume_or_none(void **state) {
    (void)state;
    poolMemPool_t tagged = swap_tagged(pool, "tag");
    struct swap_block own = swap_block(pool, MIB(20), 1, a);
    struct swap_block other = swap_block(tagged, MIB(20), 2, a);
    swap_pause(pool, NULL, poolPauseSave);
    CUdeviceptr taken = 0;
    assert_int_equal(sp_driver->cuMemAlloc(&taken, GIB(16) - MIB(30)), CUDA_SUCCESS);
    copy_refused(poolMemPoolResume(pool, NULL), poolErrorMemoryAllocation, "become resident");
    assert_int_equal(swap_paused(pool, NULL).pools, 2);
    assert_int_equal(swap_paused(pool, NULL).hostBytes, MIB(40));
    assert_false(swap_has_memory(&own) || swap_has_memory(&other));
    swap_resume(pool, "tag"); // for one there is room
    assert_true(swap_is_intact(&other));
    assert_int_equal(sp_driver->cuMemFree(taken), CUDA_SUCCESS);
    swap_resume(pool, NULL);
    assert_true(swap_is_intact(&own));
    swap_free(&own, a);
    swap_free(&other, a);
}

// ---------------------------------------------------------------------------------------- the host

static void the_host_pool_keeps_what_the_program_says(void **state) {
    (void)state;
    poolMemPool_t host = NULL, again = NULL;
    struct swap_block block = swap_block(pool, MIB(4), 1, a);
    copy_good(poolSwapGetHostPool(&host));
    swap_pause(pool, NULL, poolPauseSave);
    assert_true(fixture_reserved(host) >= MIB(4));
    swap_resume(pool, NULL);
    assert_int_equal(fixture_reserved(host), 0);
    fixture_set(host, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    swap_pause(pool, NULL, poolPauseSave);
    uint64_t reserved = fixture_reserved(host);
    swap_resume(pool, NULL);
    assert_int_equal(fixture_reserved(host), reserved);
    swap_pause(pool, NULL, poolPauseSave);
    copy_good(poolMemPoolDestroy(host)); // what is saved stays
    copy_good(poolSwapGetHostPool(&again));
    assert_ptr_not_equal(again, host);
    swap_resume(pool, NULL);
    assert_true(swap_is_intact(&block));
    swap_free(&block, a);
}

static void pieces_are_as_large_as_the_limit_leaves(void **state) {
    (void)state;
    struct swap_block block = swap_block(pool, MIB(2), 1, a);
    copy_good(poolSwapSetHostLimit(MIB(2) - 1));
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL),
                 poolErrorMemoryAllocation, "2097152 bytes to save, and 2093056 of the host");
    copy_good(poolSwapSetHostLimit(0));
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL),
                 poolErrorMemoryAllocation, "STREAMPOOL_SWAP_DIR names no folder");
    copy_good(poolSwapSetHostLimit(MIB(2)));
    swap_pause(pool, NULL, poolPauseSave);
    copy_good(poolSwapSetHostLimit(0)); // what is saved stays
    swap_resume(pool, NULL);
    assert_true(swap_is_intact(&block));
    swap_free(&block, a);
}

// ----------------------------------------------------------------------- what the program does
// itself

static void what_the_program_evicts_is_its_own_affair(void **state) {
    (void)state;
    poolMemPool_t tagged = swap_tagged(pool, "tag");
    struct swap_block own = swap_block(pool, MIB(3), 1, a);
    copy_good(poolMemPoolEvict(tagged, NULL, NULL, NULL));
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL), poolErrorIllegalState,
                 "evicted by poolMemPoolEvict");
    assert_true(swap_is_intact(&own));
    assert_int_equal(swap_in_host(), 0);
    swap_resume(pool, NULL); // does nothing with it
    void *pointer = NULL;
    assert_int_equal(poolMallocFromPoolAsync(&pointer, 1, tagged, a), poolErrorIllegalState);
    copy_good(poolMemPoolMakeResident(tagged, NULL, NULL));
    swap_free(&own, a);
}

static void what_the_program_makes_resident_is_not_loaded(void **state) {
    (void)state;
    poolMemPool_t tagged = swap_tagged(pool, "tag");
    struct swap_block own = swap_block(pool, MIB(3), 1, a);
    struct swap_block other = swap_block(tagged, MIB(3), 2, a);
    swap_pause(pool, NULL, poolPauseSave);
    copy_good(poolMemPoolMakeResident(tagged, NULL, NULL));
    copy_refused(poolMemPoolResume(pool, NULL), poolErrorIllegalState,
                 "made resident by poolMemPoolMakeResident");
    assert_false(swap_has_memory(&own));
    assert_int_equal(swap_in_host(), MIB(3));
    swap_resume(pool, NULL);
    assert_true(swap_is_intact(&own));
    swap_free(&own, a);
    swap_free(&other, a);
}

// ---------------------------------------------------------------------------------- what is
// refused

static void bad_arguments_are_refused(void **state) {
    (void)state;
    struct poolMemPoolPaused paused;
    poolMemPool_t gone = fixture_pool(), tagged = NULL;
    const struct poolMemRange beyond = {(void *)(UINTPTR_MAX - 10), 12};
    char long_tag[66];
    memset(long_tag, 'x', sizeof long_tag);
    long_tag[64] = '\0';
    copy_good(poolMemPoolDestroy(gone));
    copy_refused(poolMemPoolPause(gone, NULL, poolPauseSave, NULL, 0, NULL), poolErrorInvalidValue,
                 "is not a pool");
    copy_refused(poolMemPoolResume(gone, NULL), poolErrorInvalidValue, "is not a pool");
    copy_refused(poolMemPoolGetPaused(gone, NULL, &paused), poolErrorInvalidValue, "not a pool");
    copy_refused(poolMemPoolDestroyTagged(gone, NULL), poolErrorInvalidValue, "is not a pool");
    copy_refused(poolMemPoolGetTagged(gone, "tag", &tagged), poolErrorInvalidValue, "not a pool");
    copy_refused(poolMemPoolGetTagged(gone, "", &tagged), poolErrorInvalidValue, "not a pool");
    copy_refused(poolMemPoolGetTagged(pool, "tag", NULL), poolErrorInvalidValue, "tagged is null");
    copy_refused(poolMemPoolGetTagged(pool, long_tag, &tagged), poolErrorInvalidValue,
                 "at most 63 bytes");
    copy_refused(poolMemPoolGetTagged(pool, "a\nb", &tagged), poolErrorInvalidValue, "");
    copy_refused(poolMemPoolGetTagged(pool, "\xff", &tagged), poolErrorInvalidValue, "");
    assert_null(tagged);
    tagged = swap_tagged(pool, "tag");
    copy_refused(poolMemPoolGetTagged(tagged, "sub", &tagged), poolErrorInvalidValue,
                 "itself that of the tag tag");
    copy_refused(poolMemPoolPause(pool, "none", poolPauseSave, NULL, 0, NULL),
                 poolErrorInvalidValue, "no tag none");
    copy_refused(poolMemPoolDestroyTagged(pool, "none"), poolErrorInvalidValue, "no tag none");
    copy_refused(poolMemPoolDestroyTagged(pool, ""), poolErrorInvalidValue, "has no tag");
    copy_refused(poolMemPoolPause(pool, NULL, (enum poolPauseLevel)0, NULL, 0, NULL),
                 poolErrorInvalidValue, "0 is no level");
    copy_refused(poolMemPoolPause(pool, NULL, (enum poolPauseLevel)3, NULL, 0, NULL),
                 poolErrorInvalidValue, "3 is no level");
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 1, NULL), poolErrorInvalidValue,
                 "unwanted is null");
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, &beyond, 1, NULL),
                 poolErrorInvalidValue, "range 0 reaches beyond");
    copy_refused(poolMemPoolGetPaused(pool, NULL, NULL), poolErrorInvalidValue, "paused is null");
    copy_refused(poolSwapGetHostPool(NULL), poolErrorInvalidValue, "pool is null");
}

static void pools_of_other_memory_are_refused(void **state) {
    (void)state;
    const struct poolMemPoolProps of_host = {.allocType = poolMemAllocationTypePinned,
                                             .location = {poolMemLocationTypeHost, 0}};
    const struct poolMemPoolProps managed = {.allocType = poolMemAllocationTypeManaged,
                                             .location = {poolMemLocationTypeDevice, 0}};
    const struct poolMemPoolProps exported = {.allocType = poolMemAllocationTypePinned,
                                              .handleTypes = poolMemHandleTypePosixFileDescriptor,
                                              .location = {poolMemLocationTypeDevice, 0}};
    const struct poolMemPoolProps *all[] = {&of_host, &managed, &exported};
    for (size_t i = 0; i < 3; i++) {
        poolMemPool_t other = NULL, tagged = NULL;
        copy_good(poolMemPoolCreate(&other, all[i]));
        copy_refused(poolMemPoolPause(other, NULL, poolPauseSave, NULL, 0, NULL),
                     poolErrorNotSupported, "");
        if (i < 2)
            copy_refused(poolMemPoolGetTagged(other, "tag", &tagged), poolErrorNotSupported, "");
        copy_good(poolMemPoolDestroy(other));
    }
}

static void the_context_is_that_of_the_device(void **state) {
    (void)state;
    CUdevice device;
    CUcontext other = NULL;
    struct swap_block block = swap_block(pool, MIB(3), 1, a);
    assert_int_equal(sp_driver->cuDeviceGet(&device, 1), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&other, device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(other), CUDA_SUCCESS);
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL), poolErrorInvalidDevice,
                 "device 0");
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(sp_driver->cuCtxSetCurrent(other), CUDA_SUCCESS);
    copy_refused(poolMemPoolResume(pool, NULL), poolErrorInvalidDevice, "device 0");
    assert_false(swap_has_memory(&block));
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    swap_resume(pool, NULL); // makes the device's primary one current
    assert_true(swap_is_intact(&block));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
    swap_free(&block, a);
}

static poolError_t write_other_bytes(void *user, const struct poolMemRange *ranges, size_t count) {
    const struct swap_block *block = user;
    (void)ranges;
    assert_int_equal(count, 1);
    return simcudaPoke((uintptr_t)block->pointer, "another", 7) == CUDA_SUCCESS ? poolSuccess
                                                                                : poolErrorUnknown;
}

// Beside a fixed block, which each pause tries to take, and without.
static void a_pool_that_the_program_made_resident_is_saved_anew(void **state) {
    (void)state;
    for (int fixes = 0; fixes < 2; fixes++) {
        char bytes[7];
        void *fixed = NULL;
        struct swap_block block = swap_block(pool, MIB(4), 1, a);
        if (fixes)
            copy_good(poolMallocAsyncWithFlags(&fixed, MIB(2), pool, a, poolMallocFixed));
        swap_pause(pool, NULL, poolPauseSave);
        copy_good(poolMemPoolMakeResident(pool, write_other_bytes, &block));
        assert_int_equal(swap_pause(pool, NULL, poolPauseSave).hostBytes, MIB(4));
        assert_false(swap_has_memory(&block));
        swap_resume(pool, NULL);
        assert_int_equal(simcudaPeek(bytes, (uintptr_t)block.pointer, 7), CUDA_SUCCESS);
        assert_memory_equal(bytes, "another", 7);
        swap_free(&block, a);
        if (fixes)
            fixture_free(fixed, a);
        fixture_synchronize(a);
    }
}

// Addresses between blocks may be those of a block that is put together of pieces.
static void what_is_unwanted_is_a_part_of_one_block(void **state) {
    enum { PIECES = 16 };
    (void)state;
    poolMemPool_t small = fixture_pool_of_at_most(MIB(64));
    struct swap_block blocks[PIECES];
    for (unsigned i = 0; i < PIECES; i++)
        blocks[i] = swap_block(small, MIB(4), i, a);
    swap_free(&blocks[4], a);
    swap_free(&blocks[6], a);
    struct swap_block joined = swap_block(small, MIB(8), 99, a);
    const struct poolMemRange unwanted[] = {{blocks[5].pointer, MIB(6)},
                                            {blocks[5].pointer - MIB(1), MIB(6)}};
    struct poolMemPoolPaused paused;
    copy_good(poolMemPoolPause(small, NULL, poolPauseSave, unwanted, 2, &paused));
    assert_int_equal(paused.discardedBytes, MIB(4));
    swap_resume(small, NULL);
    assert_true(swap_is_intact(&joined));
    assert_true(swap_is_intact(&blocks[7]));
    for (unsigned i = 0; i < PIECES; i++) {
        if (blocks[i].pointer)
            swap_free(&blocks[i], a);
    }
    swap_free(&joined, a);
    copy_good(poolMemPoolDestroy(small));
}

static void a_pool_does_not_pause_while_a_stream_captures(void **state) {
    (void)state;
    CUgraph graph = NULL;
    struct swap_block block = swap_block(pool, MIB(3), 1, a);
    assert_int_equal(sp_driver->cuStreamBeginCapture(b, CU_STREAM_CAPTURE_MODE_RELAXED),
                     CUDA_SUCCESS);
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL),
                 poolErrorStreamCaptureUnsupported, "");
    assert_int_not_equal(sp_driver->cuStreamEndCapture(b, &graph), CUDA_SUCCESS);
    simcudaReportClear(); // that is what the simulated driver reports
    assert_true(swap_is_intact(&block));
    swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(sp_driver->cuStreamBeginCapture(b, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    swap_resume(pool, NULL); // the capture stays valid
    assert_int_equal(sp_driver->cuStreamEndCapture(b, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_true(swap_is_intact(&block));
    swap_free(&block, a);
}

static void work_is_waited_for(void **state) {
    (void)state;
    struct swap_block block = swap_block(pool, MIB(3), 1, a);
    simulated_work(a);
    swap_pause(pool, NULL, poolPauseSave);
    swap_resume(pool, NULL);
    assert_true(swap_is_intact(&block));
    swap_free(&block, a);
}

#define SWAP_TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
#define PEER_TEST(name) cmocka_unit_test_setup_teardown(name, begin_with_two_devices, finish)

int main(void) {
    const struct CMUnitTest tests[] = {
        SWAP_TEST(contents_of_all_sizes_come_back),
        SWAP_TEST(blocks_that_are_freed_meanwhile_do_not_come_back),
        SWAP_TEST(a_pool_without_blocks_pauses),
        SWAP_TEST(unwanted_ranges_are_not_saved),
        SWAP_TEST(fixed_blocks_stay_with_their_contents),
        SWAP_TEST(what_is_discarded_takes_nothing_of_the_host),
        SWAP_TEST(a_pool_that_is_paused_stays_so),
        SWAP_TEST(what_was_saved_can_be_discarded),
        SWAP_TEST(what_was_discarded_is_not_saved),
        SWAP_TEST(tags_pause_apart_and_together),
        PEER_TEST(a_tagged_pool_is_like_its_pool),
        SWAP_TEST(pools_and_tagged_pools_end_in_any_order),
        SWAP_TEST(a_tagged_pool_is_destroyed_with_what_was_saved),
        SWAP_TEST(a_pool_has_64_tags),
        SWAP_TEST(all_pools_pause_or_none),
        SWAP_TEST(all_pools_resume_or_none),
        SWAP_TEST(the_host_pool_keeps_what_the_program_says),
        SWAP_TEST(pieces_are_as_large_as_the_limit_leaves),
        SWAP_TEST(what_the_program_evicts_is_its_own_affair),
        SWAP_TEST(what_the_program_makes_resident_is_not_loaded),
        SWAP_TEST(bad_arguments_are_refused),
        SWAP_TEST(pools_of_other_memory_are_refused),
        PEER_TEST(the_context_is_that_of_the_device),
        PEER_TEST(a_pool_that_the_program_made_resident_is_saved_anew),
        PEER_TEST(what_is_unwanted_is_a_part_of_one_block),
        SWAP_TEST(a_pool_does_not_pause_while_a_stream_captures),
        SWAP_TEST(work_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
