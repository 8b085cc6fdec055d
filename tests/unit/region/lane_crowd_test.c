// The shelves of a crowded lane: what a thread allocates and frees there, and what others have of
// that: other threads, streams, pools, and a trim.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "order/mark.h"
#include "region/collect.h"
#include "unit/fixture/crowded.h"

static void run_in_thread(void *(*function)(void *), void *argument) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

// A thread has a number once it has taken a biased lock.
static void go_to_shelf(uint32_t shelf) {
    static struct sp_biased_lock first;
    sp_biased_lock_acquire(&first);
    sp_biased_lock_release(&first);
    sp_this_thread->shelf = shelf;
}

// ------------------------------------------------------------------------------------ take and put

static void a_shelf_gives_out_again_what_was_freed_there(void **state) {
    (void)state;
    void *block = block_on_shelf(KIB(4));
    uint64_t hits = fixture_attribute(pool, poolMemPoolStatReuseSameStream);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fixture_used(pool), 0);
        assert_ptr_equal(take(KIB(4)), block);
        assert_int_equal(fixture_used(pool), KIB(4));
        put(block);
        fixture_check(pool);
    }
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), hits + 20);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), KIB(4));
}

static void a_block_that_was_freed_on_a_shelf_is_free_to_who_asks(void **state) {
    (void)state;
    struct poolPointerAttributes attributes;
    void *block = block_on_shelf(KIB(4));
    assert_int_equal(poolPointerGetAttributes(&attributes, block), poolSuccess);
    assert_int_equal(attributes.state, poolPointerFree);
    assert_int_equal(poolFreeAsync(block, stream), poolErrorInvalidValue);
    assert_non_null(strstr(poolGetLastErrorDetail(), "was freed already"));
    assert_int_equal(poolFree(block), poolErrorInvalidValue);
    assert_int_equal(poolFreeAsync(block, simulated_stream()), poolErrorInvalidValue);
    assert_ptr_equal(take(KIB(4)), block);
    assert_int_equal(poolPointerGetAttributes(&attributes, block), poolSuccess);
    assert_int_equal(attributes.state, poolPointerLive);
    assert_ptr_equal(attributes.stream, stream);
}

static void *free_twice_in_thread(void *block) {
    go_to_shelf(7);
    put(block);
    assert_int_equal(poolFreeAsync(block, stream), poolErrorInvalidValue);
    return NULL;
}

static void a_free_that_comes_second_is_told_so(void **state) {
    (void)state;
    block_on_shelf(KIB(4));
    void *block = take(KIB(4));
    run_in_thread(free_twice_in_thread, block);
    assert_int_equal(poolFreeAsync(block, stream), poolErrorInvalidValue);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static void used_bytes_and_their_highest_sum_are_exact(void **state) {
    (void)state;
    void *blocks[100];
    block_on_shelf(KIB(4));
    for (uint32_t round = 0; round < 40; round++) {
        for (uint32_t i = 0; i < 100; i++) {
            sp_this_thread->shelf = i * (round % 5);
            blocks[i] = take((size_t)(i % 8 + 1) * 500);
            fixture_check(pool);
        }
        uint64_t used = fixture_used(pool);
        assert_int_equal(used, (12 * 36 + 10) * 500);
        assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), used);
        for (uint32_t i = 0; i < 100; i++) {
            put(blocks[i]);
            fixture_check(pool);
        }
        assert_int_equal(fixture_used(pool), 0);
    }
    fixture_set(pool, poolMemPoolAttrUsedMemHigh, 0);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), 0);
    fixture_check(pool);
}

static void a_thread_that_meets_another_one_goes_to_the_next_shelf(void **state) {
    (void)state;
    struct sp_lane *met = shelf_of(take(KIB(4)));
    block_on_shelf(KIB(4));
    void *block = take(KIB(4));
    met = shelf_of(block);
    sp_this_thread->stays = 0;
    sp_lock_acquire(&met->lock.shared);
    void *other = take(KIB(4));
    sp_lock_release(&met->lock.shared);
    assert_ptr_not_equal(shelf_of(other), met);
    assert_ptr_equal(shelf_of(take(KIB(4))), shelf_of(other));
    fixture_check(pool);
}

static void memory_of_the_stream_alone_is_on_shelves_too(void **state) {
    (void)state;
    void *block = block_on_shelf(KIB(4)), *own = NULL;
    assert_int_equal(poolMallocAsyncWithFlags(&own, KIB(4), pool, stream, poolMallocSameStreamOnly),
                     poolSuccess);
    assert_ptr_equal(own, block);
}

// --------------------------------------------------------------------------------- unfenced bytes

static void where_each_free_records_it_does_so_on_shelves(void **state) {
    (void)state;
    block_on_shelf(KIB(4));
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    for (int i = 0; i < 10; i++) {
        uint64_t events = fixture_attribute(pool, poolMemPoolStatEventsRecorded);
        put(take(KIB(4)));
        assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), events + 1);
    }
    fixture_check(pool);
}

static uint64_t records_of_putting(void **blocks, int from, int to, int step) {
    uint64_t events = fixture_attribute(pool, poolMemPoolStatEventsRecorded);
    for (int i = from; i < to; i += step) {
        if (blocks[i])
            put(blocks[i]);
        blocks[i] = NULL;
    }
    return fixture_attribute(pool, poolMemPoolStatEventsRecorded) - events;
}

static void the_free_that_is_one_too_many_records(void **state) {
    (void)state;
    enum { BLOCKS = 1200, OF_SLAB = 16 }; // in three extents, of which one may be held
    static void *blocks[BLOCKS];
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(4));
    block_on_shelf(KIB(4));
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = take(KIB(4));
    assert_in_range(records_of_putting(blocks, 0, BLOCKS, OF_SLAB), 2, 4);
    assert_true(sp_is_done(sp_mark_record(crowded->stream)));
    assert_in_range(records_of_putting(blocks, 0, BLOCKS, 1), 2, 4);
}

static void what_was_freed_on_a_shelf_alone_is_asked_for(void **state) {
    (void)state;
    block_on_shelf(KIB(4));
    fixture_synchronize(stream);
    assert_false(sp_held_back_any(crowded));
    simulated_work(stream);
    put(take(KIB(4)));
    assert_true(sp_held_back_any(crowded));
    assert_false(sp_held_back_here(crowded));
}

// ----------------------------------------------------------------------------- what others have

static void *free_in_thread(void *blocks) {
    go_to_shelf(8);
    for (void **block = blocks; *block; block++)
        put(*block);
    return NULL;
}

// All memory that the pool may have is in slabs of other shelves.
static void a_miss_finds_what_other_shelves_have(void **state) {
    (void)state;
    enum { BLOCKS = MIB(32) / KIB(4) };
    static void *blocks[BLOCKS + 1];
    pool = fixture_pool_of_at_most(MIB(2));
    crowded = fixture_lane(pool, stream);
    block_on_shelf(KIB(4));
    uint32_t count = 0;
    while (poolMallocFromPoolAsync(&blocks[count], KIB(4), pool, stream) == poolSuccess)
        sp_this_thread->shelf = ++count;
    blocks[count] = NULL;
    run_in_thread(free_in_thread, blocks);
    for (uint32_t i = 0; i < count; i++) {
        sp_this_thread->shelf = i * 5;
        blocks[i] = take(KIB(4));
    }
    fixture_check(pool);
}

// There are free pages for a slab of each shelf, but a pool doesn't grow for one.
static void no_pool_grows_beside_what_shelves_have(void **state) {
    (void)state;
    enum { BLOCKS = 2000 };
    static void *blocks[BLOCKS];
    block_on_shelf(KIB(4));
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = take(KIB(4));
    uint64_t reserved = fixture_reserved(pool);
    for (int i = 0; i < BLOCKS; i++) {
        if (i % 16 != 0)
            put(blocks[i]);
    }
    for (uint32_t i = 0; i < BLOCKS; i++) {
        sp_this_thread->shelf = i;
        if (i % 16 != 0)
            blocks[i] = take(KIB(4));
    }
    assert_int_equal(fixture_reserved(pool), reserved);
    fixture_check(pool);
}

static void a_thread_stays_with_a_shelf_that_has_some(void **state) {
    (void)state;
    static void *blocks[MIB(32) / KIB(4) + 1];
    int count = 0;
    pool = fixture_pool_of_at_most(MIB(2));
    crowded = fixture_lane(pool, stream);
    block_on_shelf(KIB(4));
    while (poolMallocFromPoolAsync(&blocks[count], KIB(4), pool, stream) == poolSuccess)
        count++;
    for (int i = 0; i < count; i += 2)
        put(blocks[i]);
    uint32_t has = sp_this_thread->shelf;
    sp_this_thread->shelf = has + 1;
    void *block = take(KIB(4));
    assert_ptr_equal(shelf_of(take(KIB(4))), shelf_of(block));
    assert_int_equal(sp_this_thread->shelf % SP_SHELVES,
                     shelf_of(block) == crowded ? 0 : has % SP_SHELVES);
}

// No page is free, and memory that was primed is for who has nothing else: blocks of another shelf
// come first.
static void primed_memory_is_left_while_another_shelf_has_blocks(void **state) {
    (void)state;
    const struct sp_region *regions = fixture_inside(pool)->regions;
    assert_int_equal(poolMemPoolPrime(pool, MIB(8)), poolSuccess);
    void *first = take(KIB(4));
    make_crowded(crowded);
    assert_int_equal(regions[SP_REGION_PAGES].ready.bytes, 0);
    uint64_t primed = regions[SP_REGION_LARGE].ready.bytes;
    for (uint32_t i = 1; i < SP_SHELVES - 1; i++) {
        sp_this_thread->shelf = i;
        assert_ptr_equal(slab_of(take(KIB(4))), slab_of(first));
    }
    assert_int_equal(regions[SP_REGION_LARGE].ready.bytes, primed);
    fixture_check(pool);
}

static void *look_in_thread(void *block) {
    go_to_shelf(9);
    void *taken = take(KIB(4));
    assert_int_not_equal(fixture_used(pool), 0);
    put(taken);
    *(void **)block = taken;
    return NULL;
}

static void threads_have_shelves_of_their_own(void **state) {
    (void)state;
    void *block = block_on_shelf(KIB(4)), *other = NULL;
    run_in_thread(look_in_thread, &other);
    assert_ptr_not_equal(slab_of(other), slab_of(block));
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static void a_trim_gives_back_what_shelves_have(void **state) {
    (void)state;
    block_on_shelf(KIB(4));
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
    fixture_check(pool);
}

static void another_stream_gets_what_shelves_have_when_it_is_complete(void **state) {
    (void)state;
    poolMemPool_t small = fixture_pool_of_at_most(MIB(2));
    CUstream other = simulated_stream();
    pool = small;
    crowded = fixture_lane(pool, stream);
    block_on_shelf(KIB(4));
    fixture_synchronize(stream);
    assert_non_null(fixture_malloc(pool, MIB(2), other));
    fixture_check(pool);
}

// It is pending, so the other stream grows the pool.
static void another_stream_gets_nothing_of_them_while_it_is_pending(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    void *block = block_on_shelf(KIB(4));
    simulated_work(stream);
    put(take(KIB(4)));
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    for (int i = 0; i < 40; i++)
        assert_ptr_not_equal(fixture_malloc(pool, KIB(4), other), block);
    fixture_check(pool);
}

// A block that another stream returned to a slab of a shelf is in reach of each thread.
static void what_was_returned_to_one_shelf_is_found_from_another(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(MIB(2));
    crowded = fixture_lane(pool, stream);
    block_on_shelf(KIB(32));
    static void *blocks[MIB(32) / KIB(32) + 1];
    void *got = NULL;
    int count = 0;
    while (poolMallocFromPoolAsync(&blocks[count], KIB(32), pool, stream) == poolSuccess)
        count++;
    CUstream other = simulated_stream();
    simulated_work(other);
    assert_int_equal(poolFreeAsync(blocks[count / 2], other), poolSuccess);
    sp_this_thread->shelf = 11;
    assert_int_equal(poolMallocFromPoolAsync(&got, KIB(32), pool, stream), poolSuccess);
    assert_ptr_equal(got, blocks[count / 2]);
    fixture_check(pool);
}

static void a_free_behind_several_streams_counts_for_the_lane(void **state) {
    (void)state;
    CUstream streams[2] = {stream, simulated_stream()};
    block_on_shelf(KIB(4));
    void *block = take(KIB(4));
    simulated_work(streams[0]);
    simulated_work(streams[1]);
    assert_int_equal(poolFreeAsyncAfter(block, streams, 2), poolSuccess);
    fixture_check(pool);
    fixture_synchronize(streams[1]);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

// ------------------------------------------------------------------------------- pools of a kind

static void a_deterministic_pool_uses_none(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    put(take(KIB(4)));
    make_crowded(crowded);
    put(take(KIB(4)));
    assert_null(sp_load_relaxed(&crowded->next_shelf));
}

static void a_pool_that_becomes_deterministic_uses_them_no_more(void **state) {
    (void)state;
    block_on_shelf(KIB(4));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_ptr_equal(shelf_of(take(KIB(4))), crowded);
    fixture_check(pool);
}

static void a_given_up_pool_goes_with_the_last_free_of_a_crowded_lane(void **state) {
    (void)state;
    block_on_shelf(KIB(4));
    void *last = take(KIB(4)), *other = take(KIB(4));
    put(other);
    struct sp_device *device = fixture_inside(pool)->device;
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(sp_load_relaxed(&device->given_up), 1);
    put(last);
    fixture_synchronize(stream);
    assert_int_equal(sp_load_relaxed(&device->given_up), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_shelf_gives_out_again_what_was_freed_there),
        TEST(a_block_that_was_freed_on_a_shelf_is_free_to_who_asks),
        TEST(a_free_that_comes_second_is_told_so),
        TEST(used_bytes_and_their_highest_sum_are_exact),
        TEST(a_thread_that_meets_another_one_goes_to_the_next_shelf),
        TEST(memory_of_the_stream_alone_is_on_shelves_too),
        TEST(where_each_free_records_it_does_so_on_shelves),
        TEST(the_free_that_is_one_too_many_records),
        TEST(what_was_freed_on_a_shelf_alone_is_asked_for),
        TEST(a_miss_finds_what_other_shelves_have),
        TEST(no_pool_grows_beside_what_shelves_have),
        TEST(a_thread_stays_with_a_shelf_that_has_some),
        TEST(primed_memory_is_left_while_another_shelf_has_blocks),
        TEST(threads_have_shelves_of_their_own),
        TEST(a_trim_gives_back_what_shelves_have),
        TEST(another_stream_gets_what_shelves_have_when_it_is_complete),
        TEST(another_stream_gets_nothing_of_them_while_it_is_pending),
        TEST(what_was_returned_to_one_shelf_is_found_from_another),
        TEST(a_free_behind_several_streams_counts_for_the_lane),
        TEST(a_deterministic_pool_uses_none),
        TEST(a_pool_that_becomes_deterministic_uses_them_no_more),
        TEST(a_given_up_pool_goes_with_the_last_free_of_a_crowded_lane),
    };
    return cmocka_run_group_tests_name("region_lane_crowd", tests, NULL, NULL);
}
