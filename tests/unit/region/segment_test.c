#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "inside/space.h"
#include "region/segment.h"
#include "unit/fixture/pool.h"

static CUstream stream;

static int setup_with(const char *settings) {
    if (fixture_begin(settings) != 0)
        return -1;
    stream = simulated_stream();
    return 0;
}

static int setup(void **state) {
    (void)state;
    return setup_with("memory=64G");
}

static int setup_small(void **state) {
    (void)state;
    return setup_with("memory=256M");
}

static int setup_for_many(void **state) {
    (void)state;
    return setup_with("memory=2G");
}

static uint64_t space_of(poolMemPool_t pool) {
    return fixture_attribute(pool, poolMemPoolStatAddressSpace);
}

static unsigned segments_of(poolMemPool_t pool, enum sp_region_kind kind) {
    unsigned count = 0;
    SP_LIST_FOR_EACH(link, &fixture_inside(pool)->regions[kind].segments)
        count++;
    return count;
}

static void free_and_trim(poolMemPool_t pool, void *pointer) {
    fixture_free(pointer, stream);
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    fixture_check(pool);
}

static void a_pool_takes_little_address_space_at_first(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    assert_int_equal(space_of(pool), 0);
    fixture_malloc(pool, MIB(1), stream);
    assert_int_equal(space_of(pool), SP_SEGMENT_MIN);
    fixture_malloc(pool, 100, stream);
    assert_int_equal(space_of(pool), 2 * SP_SEGMENT_MIN);
}

static void a_segment_grows_in_place_as_far_as_the_device_has_memory(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    char *first = fixture_malloc(pool, MIB(3), stream);
    char *end = first + MIB(3);
    for (size_t size = MIB(4); size <= GIB(16); size *= 2) {
        assert_ptr_equal(fixture_malloc(pool, size, stream), end);
        end += size;
        assert_int_equal(segments_of(pool, SP_REGION_LARGE), 1);
        assert_true(space_of(pool) <= 2 * fixture_reserved(pool));
        fixture_check(pool);
    }
}

static void free_memory_at_the_end_of_a_segment_joins_what_is_mapped_behind_it(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    void *first = fixture_malloc(pool, MIB(32), stream);
    assert_int_equal(space_of(pool), MIB(32));
    fixture_free(first, stream);
    assert_ptr_equal(fixture_malloc(pool, MIB(100), stream), first);
    assert_int_equal(fixture_reserved(pool), MIB(100));
    assert_int_equal(segments_of(pool, SP_REGION_LARGE), 1);
}

// The second segment lies where it can be extended.
static void a_pool_between_others_has_two_segments_and_no_more(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool(), other = fixture_pool();
    fixture_malloc(pool, MIB(3), stream);
    fixture_malloc(other, MIB(3), stream);
    for (size_t size = MIB(8); size <= GIB(8); size *= 2) {
        fixture_malloc(pool, size, stream);
        fixture_malloc(other, size, stream);
        assert_true(segments_of(pool, SP_REGION_LARGE) <= 2);
        assert_true(segments_of(other, SP_REGION_LARGE) <= 2);
        assert_true(space_of(pool) <= 3 * fixture_reserved(pool));
    }
    fixture_check(pool);
}

static void the_default_pool_grows_in_place_beside_others(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    uint64_t keep = UINT64_MAX;
    assert_int_equal(poolDeviceGetDefaultMemPool(&pool, 0), poolSuccess);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, keep);
    for (size_t size = MIB(1); size <= GIB(4); size *= 2) {
        fixture_malloc(pool, size, stream);
        fixture_malloc(fixture_pool(), MIB(1), stream);
    }
    assert_int_equal(segments_of(pool, SP_REGION_LARGE), 1);
}

static void a_trim_closes_what_has_no_memory(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    void *blocks[3] = {fixture_malloc(pool, MIB(3), stream), fixture_malloc(pool, 100, stream),
                       NULL};
    assert_int_equal(poolMallocAsyncWithFlags(&blocks[2], MIB(2), pool, stream, poolMallocFixed),
                     poolSuccess);
    for (int i = 0; i < 3; i++)
        fixture_free(blocks[i], stream);
    fixture_synchronize(stream);
    assert_true(space_of(pool) > 0);
    fixture_trim(pool, 0);
    assert_int_equal(space_of(pool), 0);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        assert_int_equal(segments_of(pool, (enum sp_region_kind)kind), 0);
    fixture_check(pool);
    assert_ptr_equal(fixture_malloc(pool, MIB(3), stream), blocks[0]); // and it is had again
}

static void a_trim_gives_the_end_of_a_segment_back(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    fixture_malloc(pool, MIB(3), stream);
    void *last = NULL;
    for (int i = 0; i < 2; i++) {
        void *large = fixture_malloc(pool, GIB(8), stream);
        assert_true(space_of(pool) >= GIB(8));
        assert_true(!last || large == last);
        free_and_trim(pool, large);
        assert_int_equal(space_of(pool), 2 * fixture_reserved(pool));
        last = large;
    }
}

static void pools_that_once_were_large_do_not_add_up(void **state) {
    (void)state;
    uint64_t space = 0;
    for (int i = 0; i < 40; i++) {
        poolMemPool_t pool = fixture_pool();
        fixture_malloc(pool, MIB(1), stream);
        free_and_trim(pool, fixture_malloc(pool, GIB(40), stream));
        space += space_of(pool);
    }
    assert_true(space <= 40 * MIB(16));
}

static void fixed_blocks_of_growing_sizes_leave_no_address_space_behind(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    for (size_t i = 1; i <= 200; i++) {
        void *fixed = NULL;
        assert_int_equal(
            poolMallocAsyncWithFlags(&fixed, i * MIB(40), pool, stream, poolMallocFixed),
            poolSuccess);
        assert_int_equal(space_of(pool), i * MIB(40));
        fixture_free(fixed, stream);
        fixture_synchronize(stream);
        assert_int_equal(space_of(pool), 0);
    }
}

// Nothing of it is trimmed; when the device is full the rest has to go.
static void fixed_blocks_that_are_kept_have_the_address_space_of_their_memory(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    for (size_t i = 1; i <= 100; i++) {
        void *fixed = NULL;
        assert_int_equal(
            poolMallocAsyncWithFlags(&fixed, i * MIB(2), pool, stream, poolMallocFixed),
            poolSuccess);
        fixture_free(fixed, stream);
        fixture_synchronize(stream);
        assert_int_equal(space_of(pool), fixture_reserved(pool));
        assert_true(space_of(pool) <= MIB(256));
    }
    fixture_check(pool);
}

static void a_growth_that_is_refused_leaves_no_address_space_behind(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    void *pointer = NULL;
    fixture_malloc(pool, MIB(3), stream);
    uint64_t space = space_of(pool);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(300), pool, stream),
                     poolErrorMemoryAllocation);
    assert_true(space_of(pool) <= 2 * space);
    poolMemPool_t empty = fixture_pool();
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(300), empty, stream),
                     poolErrorMemoryAllocation);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(300), empty, stream, poolMallocFixed),
                     poolErrorMemoryAllocation);
    assert_int_equal(space_of(empty), 0);
    fixture_check(pool);
    fixture_check(empty);
}

// What the driver didn't let the pool unmap stands in a hole of it.
static void a_segment_with_something_stuck_stays_until_that_is_gone(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    void *pointer = NULL;
    simcudaFailCall("cuMemSetAccess", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    simcudaFailCall("cuMemUnmap", 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(3), pool, stream), poolErrorUnknown);
    assert_int_equal(segments_of(pool, SP_REGION_LARGE), 1);
    simcudaFailClear();
    free_and_trim(pool, fixture_malloc(pool, MIB(3), stream));
    assert_int_equal(space_of(pool), 0);
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

// A view of two segments, one of which goes: the view must not look for its memory there any more.
static void a_kept_view_outlives_a_segment_that_it_reached_into(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(96)), other = fixture_pool();
    void *blocks[3] = {fixture_malloc(pool, MIB(32), stream)};
    fixture_malloc(other, MIB(1), stream); // behind the first
    blocks[1] = fixture_malloc(pool, MIB(32), stream);
    blocks[2] = fixture_malloc(pool, MIB(32), stream);
    assert_int_equal(segments_of(pool, SP_REGION_LARGE), 2);
    fixture_free(blocks[0], stream);
    fixture_free(blocks[2], stream);
    void *stitched = fixture_malloc(pool, MIB(64), stream);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 1);
    fixture_free(stitched, stream);
    fixture_synchronize(stream);
    fixture_trim(pool, MIB(96));
    blocks[0] = fixture_malloc(pool, MIB(32), stream);
    blocks[2] = fixture_malloc(pool, MIB(32), stream);
    fixture_free(blocks[0], stream);
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(segments_of(pool, SP_REGION_LARGE), 1);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 1);
    fixture_check(pool);
    fixture_free(blocks[2], stream);
    fixture_synchronize(stream);
    fixture_malloc(pool, MIB(64), stream);
    fixture_check(pool);
}

static void
each_host_allocation_that_fails_when_a_segment_is_made_or_extended_changes_nothing(void **state) {
    (void)state;
    // A first segment; two leaves more; a second one, and that extended.
    const size_t sizes[] = {MIB(3), GIB(2), MIB(100), GIB(1)};
    poolMemPool_t pool = fixture_pool();
    void *blocks[4] = {NULL};
    fixture_lane(pool, stream);
    for (int i = 0; i < 4; i++) {
        uint64_t failed = 1;
        if (i == 2)
            fixture_malloc(fixture_pool(), MIB(1), stream);
        for (uint64_t nth = 1; failed > 0; nth++) {
            uint64_t used = fixture_used(pool), reserved = fixture_reserved(pool);
            host_memory_enter(nth, true);
            poolError_t error = poolMallocFromPoolAsync(&blocks[i], sizes[i], pool, stream);
            host_memory_leave(&failed);
            assert_int_equal(error, failed > 0 ? poolErrorMemoryAllocation : poolSuccess);
            assert_int_equal(fixture_used(pool), failed > 0 ? used : used + sizes[i]);
            assert_true(failed == 0 || fixture_reserved(pool) == reserved);
            fixture_check(pool);
            assert_true(inside_space_check(&fixture_inside(pool)->device->space));
        }
    }
}

enum { MANY = 1200 };

static void pools_that_were_trimmed_take_nothing(void **state) {
    (void)state;
    for (int i = 0; i < MANY; i++) {
        poolMemPool_t pool = fixture_pool();
        free_and_trim(pool, fixture_malloc(pool, MIB(1), stream));
        assert_int_equal(space_of(pool), 0);
    }
    assert_int_equal(simcudaMemoryInUse(0), 0);
}

// Together they need four fifths of the device, in granules; at one extent each they would need
// more than it has.
static void pools_that_hold_a_little_each_fill_the_device_and_not_the_address_space(void **state) {
    (void)state;
    uint64_t space = 0, reserved = 0;
    for (int i = 0; i < 800; i++) {
        poolMemPool_t pool = fixture_pool();
        fixture_malloc(pool, MIB(1), stream);
        space += space_of(pool);
        reserved += fixture_reserved(pool);
    }
    assert_true(reserved >= 800 * MIB(2) && reserved <= GIB(2));
    assert_true(space <= 4 * reserved);
    assert_true(inside_space_check(&sp_device_next(NULL)->space));
}

#define segment_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        segment_test(a_pool_takes_little_address_space_at_first),
        segment_test(a_segment_grows_in_place_as_far_as_the_device_has_memory),
        segment_test(free_memory_at_the_end_of_a_segment_joins_what_is_mapped_behind_it),
        segment_test(a_pool_between_others_has_two_segments_and_no_more),
        segment_test(the_default_pool_grows_in_place_beside_others),
        segment_test(a_trim_closes_what_has_no_memory),
        segment_test(a_trim_gives_the_end_of_a_segment_back),
        segment_test(pools_that_once_were_large_do_not_add_up),
        segment_test(fixed_blocks_of_growing_sizes_leave_no_address_space_behind),
        cmocka_unit_test_setup_teardown(
            fixed_blocks_that_are_kept_have_the_address_space_of_their_memory, setup_small,
            fixture_teardown),
        cmocka_unit_test_setup_teardown(a_growth_that_is_refused_leaves_no_address_space_behind,
                                        setup_small, fixture_teardown),
        segment_test(a_segment_with_something_stuck_stays_until_that_is_gone),
        segment_test(a_kept_view_outlives_a_segment_that_it_reached_into),
        segment_test(
            each_host_allocation_that_fails_when_a_segment_is_made_or_extended_changes_nothing),
        segment_test(pools_that_were_trimmed_take_nothing),
        cmocka_unit_test_setup_teardown(
            pools_that_hold_a_little_each_fill_the_device_and_not_the_address_space, setup_for_many,
            fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
