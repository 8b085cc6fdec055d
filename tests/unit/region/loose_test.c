// Small blocks that no slab has.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "order/mark.h"
#include "region/collect.h"
#include "region/held.h"
#include "region/loose.h"
#include "region/owner.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

// A sanitizer would take minutes for as many.
#ifdef WITH_SANITIZER
enum { VERY_MANY = 2000 };
#else
enum { VERY_MANY = 10000 };
#endif

static poolMemPool_t pool;
static CUstream a, b;

static int setup(void **state) {
    (void)state;
    if (fixture_begin("memory=64G") != 0)
        return -1;
    pool = fixture_pool();
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

static void leave_idle(uint64_t least) {
    sp_store_relaxed(&fixture_inside(pool)->slabs.idle_min, least);
    sp_store_relaxed(&fixture_inside(pool)->slabs.rests, 0);
}

static struct sp_slab *slab_of(const void *pointer) {
    return sp_owner_slab(sp_owner_of((uint64_t)(uintptr_t)pointer));
}

static char *a_loose_block(size_t size, CUstream stream) {
    char *pointer = fixture_malloc(pool, size, stream);
    assert_null(slab_of(pointer));
    return pointer;
}

static struct poolPointerAttributes at(const void *pointer) {
    struct poolPointerAttributes attributes;
    assert_int_equal(poolPointerGetAttributes(&attributes, pointer), poolSuccess);
    return attributes;
}

// ------------------------------------------------------------------------------------------ memory

// Returns what is reserved when so many streams have ten small blocks of different classes each.
static uint64_t reserved_by(size_t streams) {
    static const size_t sizes[] = {64, 600, 1100, 2500, 5000, 9000, 17000, 33000, 50000, 3000};
    CUstream *stream = malloc(streams * sizeof(CUstream));
    assert_non_null(stream);
    for (size_t i = 0; i < streams; i++) {
        stream[i] = simulated_stream();
        for (size_t j = 0; j < sizeof sizes / sizeof sizes[0]; j++)
            fixture_malloc(pool, sizes[j], stream[i]);
    }
    free(stream);
    return fixture_reserved(pool);
}

static void many_streams_with_ten_small_blocks_hold_little_more_than_these(void **state) {
    (void)state;
    uint64_t reserved = reserved_by(1024);
    assert_true(fixture_used(pool) > MIB(118));
    assert_true(reserved <= MIB(140));
}

static void so_do_ten_times_as_many(void **state) {
    (void)state;
    uint64_t reserved = reserved_by(VERY_MANY);
    assert_true(reserved <= fixture_used(pool) / 100 * 118);
}

static void a_byte_on_each_of_many_streams_takes_little(void **state) {
    (void)state;
    for (int i = 0; i < VERY_MANY; i++)
        fixture_malloc(pool, 1, simulated_stream());
    assert_true(fixture_reserved(pool) <= MIB(24)); // 5 MiB by blocks of 512 bytes
}

static void pairs_on_many_streams_take_little(void **state) {
    (void)state;
    enum { STREAMS = 2000 };
    static CUstream streams[STREAMS];
    for (int i = 0; i < STREAMS; i++)
        streams[i] = simulated_stream();
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < STREAMS; i++)
            fixture_free(fixture_malloc(pool, KIB(1), streams[i]), streams[i]);
    }
    assert_true(fixture_reserved(pool) <= MIB(24));
}

// --------------------------------------------------------------------------------- slabs, and when

static void few_lanes_have_slabs_of_all_classes(void **state) {
    (void)state;
    for (unsigned i = 0; i < SP_CLASS_COUNT; i++) {
        assert_non_null(slab_of(fixture_malloc(pool, sp_size_classes[i].block_size, a)));
        assert_non_null(slab_of(fixture_malloc(pool, sp_size_classes[i].block_size, b)));
    }
}

static void a_lane_has_a_slab_as_long_as_little_is_idle(void **state) {
    (void)state;
    leave_idle(3 * SP_PAGE_SIZE);
    for (int i = 0; i < 3; i++)
        assert_non_null(slab_of(fixture_malloc(pool, KIB(1), simulated_stream())));
    a_loose_block(KIB(1), a);
    a_loose_block(KIB(1), a);
}

// The first streams fill theirs, so there is as much to be idle as before.
static void it_has_one_again_when_others_are_filled(void **state) {
    (void)state;
    leave_idle(2 * SP_PAGE_SIZE);
    fixture_malloc(pool, KIB(1), a);
    fixture_malloc(pool, KIB(1), b);
    CUstream c = simulated_stream();
    a_loose_block(KIB(1), c);
    for (int i = 1; i < 64; i++)
        fixture_malloc(pool, KIB(1), a);
    for (int rests = 0; !slab_of(fixture_malloc(pool, KIB(1), c)); rests++)
        assert_true(rests < 16); // up to the next look
}

static void or_when_they_are_given_back(void **state) {
    (void)state;
    leave_idle(SP_PAGE_SIZE);
    void *first = fixture_malloc(pool, KIB(1), a);
    a_loose_block(KIB(1), b);
    fixture_free(first, a);
    sp_collect_all(fixture_inside(pool));
    assert_non_null(slab_of(fixture_malloc(pool, KIB(1), b)));
}

// Of much that is live a part may be idle.
static void what_may_be_idle_grows_with_what_is_live(void **state) {
    (void)state;
    leave_idle(0);
    a_loose_block(KIB(8), a);
    leave_idle(MIB(2));
    for (int i = 0; i < 256; i++)
        fixture_malloc(pool, KIB(8), a);
    leave_idle(0); // 2 MiB are live, an eighth of a MiB of these is two pages
    assert_non_null(slab_of(fixture_malloc(pool, KIB(8), a)));
    leave_idle(0);
    assert_non_null(slab_of(fixture_malloc(pool, KIB(1), b)));
    leave_idle(0);
    a_loose_block(KIB(2), b);
}

// ------------------------------------------------------------------------------------------- pairs

static void a_loose_block_is_at_hand_again(void **state) {
    (void)state;
    leave_idle(0);
    void *block = a_loose_block(3000, a);
    a_loose_block(3000, b); // a pool that several streams share
    fixture_free(block, a);
    uint64_t hits = fixture_attribute(pool, poolMemPoolStatReuseSameStream);
    uint32_t misses = sp_load_relaxed(&fixture_lane(pool, a)->misses);
    for (int i = 0; i < 20; i++) {
        assert_ptr_equal(fixture_malloc(pool, 3000, a), block);
        assert_int_equal(sp_load_relaxed(&fixture_lane(pool, a)->misses), misses);
        assert_int_equal(fixture_used(pool), 6000);
        fixture_free(block, a);
    }
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), hits + 20);
    fixture_check(pool);
}

static void loose_blocks_lie_side_by_side(void **state) {
    (void)state;
    leave_idle(0);
    char *first = a_loose_block(100, a);
    assert_ptr_equal(a_loose_block(700, b), first + 512);
    assert_ptr_equal(a_loose_block(SP_SMALL_MAX, a), first + 1536);
    assert_ptr_equal(a_loose_block(1, b), first + 1536 + SP_SMALL_MAX);
    fixture_check(pool);
}

// ------------------------------------------------------------------------------------------ fences

static void another_stream_has_it_when_it_is_complete_and_not_before(void **state) {
    (void)state;
    leave_idle(0);
    pool = fixture_pool_of_at_most(MIB(32));
    leave_idle(0);
    fixture_malloc(pool, MIB(32) - KIB(64), b);
    void *blocks[2] = {a_loose_block(SP_SMALL_MAX, a), NULL};
    simulated_work(a);
    fixture_free(blocks[0], a);
    assert_int_equal(
        poolMallocAsyncWithFlags(&blocks[1], SP_SMALL_MAX, pool, b, poolMallocNoInsertedWaits),
        poolErrorMemoryAllocation);
    assert_ptr_equal(fixture_malloc(pool, SP_SMALL_MAX, a), blocks[0]);
    fixture_free(blocks[0], a);
    simulated_finish(a);
    assert_ptr_equal(fixture_malloc(pool, SP_SMALL_MAX, b), blocks[0]);
}

static void its_stream_alone_has_it_where_the_request_says_so(void **state) {
    (void)state;
    void *block;
    pool = fixture_pool_of_at_most(MIB(32));
    leave_idle(0);
    fixture_malloc(pool, MIB(32) - KIB(64), b);
    void *freed = a_loose_block(SP_SMALL_MAX, a);
    simulated_work(a);
    fixture_free(freed, a);
    assert_done(sp_mark_record(fixture_stream(a)));
    fixture_order(b, a);
    assert_int_equal(
        poolMallocAsyncWithFlags(&block, SP_SMALL_MAX, pool, b, poolMallocSameStreamOnly),
        poolErrorMemoryAllocation);
    assert_int_equal(
        poolMallocAsyncWithFlags(&block, SP_SMALL_MAX, pool, a, poolMallocSameStreamOnly),
        poolSuccess);
    assert_ptr_equal(block, freed);
    fixture_free(block, a);
    fixture_order(b, a);
    assert_ptr_equal(fixture_malloc(pool, SP_SMALL_MAX, b), freed);
}

static void it_is_freed_behind_another_stream_and_behind_none(void **state) {
    (void)state;
    leave_idle(0);
    void *first = a_loose_block(2000, a), *second = a_loose_block(2000, a);
    fixture_free(first, b);
    assert_int_equal(poolFree(second), poolSuccess);
    assert_int_equal(poolFree(second), poolErrorInvalidValue);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
    fixture_synchronize(b);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

// ----------------------------------------------------------------------------------- what it tells

static void all_of_its_addresses_tell_of_it(void **state) {
    (void)state;
    leave_idle(0);
    char *first = a_loose_block(600, a), *second = a_loose_block(50000, b);
    char *third = a_loose_block(20000, a); // which begins in the page where the second ends
    for (size_t offset = 0; offset < 1024; offset += 100)
        assert_ptr_equal(at(first + offset).base, first);
    for (size_t offset = 0; offset < 50176; offset += 1000)
        assert_ptr_equal(at(second + offset).base, second);
    for (size_t offset = 0; offset < 20480; offset += 1000)
        assert_ptr_equal(at(third + offset).base, third);
    assert_int_equal(at(second + 1).requestedSize, 50000);
    assert_int_equal(at(second).size, 50176);
    assert_ptr_equal(at(second).stream, b);
    assert_int_equal(at(third + 20480).state, poolPointerFree);
    fixture_free(second, b);
    assert_int_equal(at(second + 1000).state, poolPointerFree);
    assert_ptr_equal(at(third + 1000).base, third);
}

static void a_wrong_free_is_told(void **state) {
    (void)state;
    leave_idle(0);
    char *block = a_loose_block(3000, a);
    for (size_t offset = 1; offset < 4096; offset += 511)
        assert_int_equal(poolFreeAsync(block + offset, a), poolErrorInvalidValue);
    assert_int_equal(poolFreeAsync(block + 512, b), poolErrorInvalidValue);
    fixture_free(block, a);
    assert_int_equal(poolFreeAsync(block, a), poolErrorInvalidValue);
    assert_int_equal(poolFreeAsync(block, b), poolErrorInvalidValue);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

// ------------------------------------------------------------------------------------------- pages

// The blocks fill pages, which become those of slabs; and a large block's, and slabs' again.
static void its_page_becomes_a_slabs_and_a_large_blocks_and_is_had_again(void **state) {
    (void)state;
    enum { BLOCKS = 256 };
    void *blocks[BLOCKS];
    pool = fixture_pool_of_at_most(MIB(32));
    for (int round = 0; round < 3; round++) {
        leave_idle(0);
        for (int i = 0; i < BLOCKS; i++)
            blocks[i] = a_loose_block(KIB(4), i % 2 ? a : b);
        fixture_check(pool);
        for (int i = 0; i < BLOCKS; i++)
            fixture_free(blocks[i], i % 2 ? a : b);
        sp_collect_all(fixture_inside(pool)); // a lane has one at hand
        leave_idle(MIB(32));
        for (int i = 0; i < BLOCKS; i++)
            assert_non_null(slab_of(blocks[i] = fixture_malloc(pool, KIB(4), a)));
        fixture_check(pool);
        for (int i = 0; i < BLOCKS; i++)
            fixture_free(blocks[i], a);
        fixture_synchronize(a);
        fixture_free(fixture_malloc(pool, MIB(31), a), a);
        fixture_synchronize(a);
        fixture_check(pool);
    }
}

// Slabs' pages begin at page boundaries among loose blocks of all sizes, which the check knows.
static void slabs_have_whole_pages_between_loose_blocks(void **state) {
    (void)state;
    void *blocks[200];
    int slabs = 0;
    for (int i = 0; i < 200; i++) {
        leave_idle(i % 2 ? UINT64_MAX : 0);
        blocks[i] = fixture_malloc(pool, 512 + (size_t)i * 270, i % 3 ? a : simulated_stream());
        slabs += slab_of(blocks[i]) != NULL;
    }
    assert_in_range(slabs, 50, 150);
    fixture_check(pool);
    for (int i = 0; i < 200; i += 2)
        fixture_free(blocks[i], a);
    for (int i = 1; i < 200; i += 2)
        fixture_free(blocks[i], b);
    fixture_check(pool);
}

// Of a pool that is full of large blocks the end of what is free serves it.
static void it_is_cut_from_the_end_of_large_memory(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(MIB(32));
    leave_idle(0);
    char *first = fixture_malloc(pool, MIB(16), a), *second = fixture_malloc(pool, MIB(16), a);
    char *lower = first < second ? first : second;
    fixture_free(lower, a);
    for (size_t i = 1; i <= 2; i++) {
        void *loose;
        assert_int_equal(poolMallocAsyncWithFlags(&loose, 1000, pool, a, poolMallocNoGrowth),
                         poolSuccess);
        assert_ptr_equal(loose, lower + MIB(16) - KIB(i));
    }
    assert_ptr_equal(fixture_malloc(pool, MIB(16) - 2048, a), lower);
    fixture_check(pool);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(many_streams_with_ten_small_blocks_hold_little_more_than_these),
        TEST(so_do_ten_times_as_many),
        TEST(a_byte_on_each_of_many_streams_takes_little),
        TEST(pairs_on_many_streams_take_little),
        TEST(few_lanes_have_slabs_of_all_classes),
        TEST(a_lane_has_a_slab_as_long_as_little_is_idle),
        TEST(it_has_one_again_when_others_are_filled),
        TEST(or_when_they_are_given_back),
        TEST(what_may_be_idle_grows_with_what_is_live),
        TEST(a_loose_block_is_at_hand_again),
        TEST(loose_blocks_lie_side_by_side),
        TEST(another_stream_has_it_when_it_is_complete_and_not_before),
        TEST(its_stream_alone_has_it_where_the_request_says_so),
        TEST(it_is_freed_behind_another_stream_and_behind_none),
        TEST(all_of_its_addresses_tell_of_it),
        TEST(a_wrong_free_is_told),
        TEST(its_page_becomes_a_slabs_and_a_large_blocks_and_is_had_again),
        TEST(slabs_have_whole_pages_between_loose_blocks),
        TEST(it_is_cut_from_the_end_of_large_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
