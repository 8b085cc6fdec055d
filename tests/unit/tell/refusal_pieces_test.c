// What a refusal says of free memory in pieces.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/mark.h"
#include "unit/fixture/refusal.h"
#include "unit/outcomes.h"

static void
pinned_pieces_are_told_and_that_a_larger_limit_helps_or_nothing_but_freeing(void **state) {
    (void)state;
    fill_with(HALF);
    for (size_t i = 0; i < HALVES; i += 2)
        drop(i, a);
    refuse(MIB(24), a, 0);
    says(
        "free here 32.0 MiB (largest piece 2.0 MiB), pending 0 bytes, unfenced 0 bytes, pinned "
        "in pieces "
        "32.0 MiB");
    says(
        "; 32.0 MiB of blocks in use (16, the largest 2.0 MiB) keep 32.0 MiB from being put "
        "together or given back; ");
    advises("a pool with a maxSize that is larger by 24.0 MiB has room for it");
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), MIB(32));
    CUdeviceptr others = 0;
    size_t left, total;
    assert_int_equal(sp_driver->cuMemGetInfo(&left, &total), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuMemAlloc(&others, left - MIB(8)), CUDA_SUCCESS);
    refuse(MIB(24), a, 0);
    advises("what is free is in pieces beside blocks in use, so nothing but freeing helps");
    assert_int_equal(sp_driver->cuMemFree(others), CUDA_SUCCESS);
}

static void pieces_that_could_be_mapped_side_by_side_are_told(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    refuse(MIB(24), a, poolMallocNoGrowth);
    says(
        "free here 32.0 MiB (largest piece 4.0 MiB), pending 0 bytes, unfenced 0 bytes, pinned "
        "in pieces 0 "
        "bytes");
    advises("Defragmentation lets the pool map its free pieces side by side");
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentBeforeGrowth);
    assert_int_equal(poolMallocAsyncWithFlags(&blocks[0], MIB(24), pool, a, poolMallocNoGrowth),
                     poolSuccess); // as it was said
}

// Small blocks fill the pool, and every second part of 2 MiB of their pages is free again, as is
// the end of one more: extents are of 2 MiB.
static void leave_every_other_part_of_pages(CUstream stream) {
    enum { COUNT = POOL / KIB(32), EACH = MIB(2) / KIB(32), OF_SLAB = 4 };
    static void *small[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        small[i] = fixture_malloc(pool, KIB(32), a);
    for (size_t i = 0; i < COUNT; i++) {
        if (i / EACH % 2 == 0 || (i < 2 * EACH && i >= 2 * EACH - OF_SLAB))
            fixture_free(small[i], stream);
    }
}

// Whole extents alone could be given back and mapped anew.
static void pages_that_could_be_mapped_side_by_side_are_told(void **state) {
    (void)state;
    leave_every_other_part_of_pages(a);
    fixture_synchronize(a);
    uint64_t size = fixture_attribute(pool, poolMemPoolStatLargestRemapped);
    assert_true(size > MIB(12));
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    refuse(size, a, 0);
    advises("Defragmentation lets the pool map its free pieces side by side");
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentBeforeGrowth);
    fixture_malloc(pool, size, a); // as it was said
}

static void pages_that_could_be_waited_for_are_told(void **state) {
    (void)state;
    simulated_work(a);
    leave_every_other_part_of_pages(a);
    assert_done(sp_mark_record(fixture_stream(a)));
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    refuse(MIB(12), b, 0);
    advises("ReuseAllowInternalDependencies lets the stream wait for what is pending");
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 1);
    fixture_malloc(pool, MIB(12), b); // as it was said
}

// On a device of 128 MiB one pool has 4 MiB free, and 2 in another extent, by frees on that stream.
// Another pool keeps 2.
static void leave_pieces_and_what_they_lack(poolMemPool_t other, CUstream on) {
    fill_with(HALF);
    fixture_malloc(other, MIB(62), a);
    fixture_free(fixture_malloc(other, MIB(2), a), a);
    fixture_synchronize(a);
    simulated_work(on);
    drop(0, on);
    drop(1, on);
    drop(3, on);
}

static poolMemPool_t begin_with_two_pools(void **state) {
    assert_int_equal(fixture_teardown(state), 0);
    assert_int_equal(fixture_begin("memory=128M"), 0);
    poolMemPool_t other = fixture_pool();
    pool = fixture_pool();
    a = simulated_stream();
    b = simulated_stream();
    return other;
}

static void pieces_that_lack_what_another_pool_keeps_are_told(void **state) {
    poolMemPool_t other = begin_with_two_pools(state);
    leave_pieces_and_what_they_lack(other, a);
    fixture_synchronize(a);
    refuse(MIB(8), a, 0);
    advises("poolMemPoolTrimTo of other pools of the device gives back what is missing");
    fixture_trim(other, 0);
    fixture_malloc(pool, MIB(8), a); // as it was said
}

static void pending_pieces_that_lack_what_another_pool_keeps_are_told(void **state) {
    poolMemPool_t other = begin_with_two_pools(state);
    leave_pieces_and_what_they_lack(other, b);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    refuse(MIB(8), a, 0);
    advises(
        "poolMemPoolTrimTo of other pools of the device gives back what is missing after "
        "poolDeviceSynchronize");
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    fixture_trim(other, 0);
    fixture_malloc(pool, MIB(8), a); // as it was said
}

static void a_fixed_block_that_only_pieces_are_left_for_is_told(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    refuse(MIB(8), a, poolMallocFixed | poolMallocNoGrowth);
    advises("without poolMallocFixed the pool could map its free pieces side by side");
    assert_int_equal(poolMallocAsyncWithFlags(&blocks[0], MIB(8), pool, a, poolMallocNoGrowth),
                     poolSuccess); // as it was said
}

// A slab for it has three pages.
static void leave_a_piece_that_has_no_room_for_a_slab(void) {
    pool = fixture_pool_of_at_most(MIB(32));
    fixture_free(fixture_malloc(pool, MIB(32), a), a);
    fixture_synchronize(a);
    fixture_malloc(pool, MIB(32) - KIB(100), a);
}

static void a_small_fixed_block_is_told_of_a_piece_of_a_page(void **state) {
    (void)state;
    void *block = NULL;
    leave_a_piece_that_has_no_room_for_a_slab();
    assert_int_equal(poolMallocAsyncWithFlags(&block, 49000, pool, a, poolMallocFixed),
                     poolErrorMemoryAllocation);
    advises("without poolMallocFixed a free piece of the pool is large enough");
    fixture_malloc(pool, 49000, a); // as it was said
}

static void where_no_slab_has_room_a_small_block_is_loose(void **state) {
    (void)state;
    leave_a_piece_that_has_no_room_for_a_slab();
    uint64_t used = fixture_used(pool);
    for (int i = 0; i < 2; i++) {
        void *block = fixture_malloc(pool, 49000, a);
        void *second = fixture_malloc(pool, 49000, a);
        assert_int_equal(fixture_used(pool), used + 2 * 49000);
        assert_int_equal(poolMallocFromPoolAsync(&blocks[0], 49000, pool, a),
                         poolErrorMemoryAllocation); // 4 KiB are left
        fixture_check(pool);
        fixture_free(block, a);
        fixture_free(second, a);
        assert_int_equal(fixture_used(pool), used);
    }
    fixture_check(pool);
}

// Of 32 MiB that are in use half is freed behind pending work, and then a page is free as well.
static void a_small_block_waits_on_the_host_once_and_for_no_slab_beside_a_free_page(void **state) {
    (void)state;
    void *block = NULL;
    pool = fixture_pool_of_at_most(MIB(32));
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    fixture_set(pool, poolMemPoolAttrHostWaitMax, 1);
    void *half = fixture_malloc(pool, MIB(16), a);
    fixture_malloc(pool, MIB(16) - KIB(64), b);
    void *page = fixture_malloc(pool, KIB(64), b);
    simulated_work(a);
    fixture_free(half, a);
    assert_int_equal(poolMallocFromPoolAsync(&block, 49000, pool, b), poolErrorMemoryAllocation);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatHostWaits), 1);
    fixture_free(page, b);
    fixture_malloc(pool, 49000, b);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatHostWaits), 1);
}

static void a_fixed_block_has_no_use_for_pinned_pieces(void **state) {
    (void)state;
    fill_with(HALF);
    for (size_t i = 0; i < HALVES; i += 2)
        drop(i, a);
    refuse(MIB(8), a, poolMallocFixed);
    advises("a pool with a maxSize that is larger by 8.0 MiB has room for it");
}

// Where growth is forbidden, and there is no room for it either.
static void a_request_that_may_not_grow_beyond_the_limit_is_told_of_that(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(40), a);
    refuse(MIB(40), a, poolMallocNoGrowth);
    says("poolMallocNoGrowth forbids to grow by 40.0 MiB;");
    advises(
        "a pool with a maxSize that is larger by 16.0 MiB has room for it, without "
        "poolMallocNoGrowth");
}

static void expect_it_is_enough(size_t limit, size_t size, CUstream stream) {
    _Atomic size_t *limit_now = &fixture_inside(pool)->limit;
    *limit_now = limit - MIB(2);
    refuse(size, stream, 0);
    *limit_now = limit;
    assert_non_null(fixture_malloc(pool, size, stream));
}

// Nothing of the pool is beside a hole.
static void a_larger_limit_counts_what_can_be_given_back(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    refuse(MIB(40), a, 0);
    says("to grow by 40.0 MiB would take the pool beyond its limit of 64.0 MiB");
    advises("a pool with a maxSize that is larger by 8.0 MiB has room for it");
    expect_it_is_enough(MIB(72), MIB(40), a);
}

static void so_it_does_what_the_stream_would_wait_for(void **state) {
    (void)state;
    fill_with(EXTENT);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    drop_every_other(a);
    refuse(MIB(40), b, 0);
    says("free here 0 bytes (largest piece 0 bytes), pending 32.0 MiB");
    advises("a pool with a maxSize that is larger by 8.0 MiB has room for it");
    refuse(MIB(40), b, poolMallocNoInsertedWaits);
    advises("a pool with a maxSize that is larger by 40.0 MiB has room for it");
    expect_it_is_enough(MIB(72), MIB(40), b);
}

// Each of these could be had in one piece, of two free blocks side by side, or as what new memory
// continues.
static void neighbours_of_which_one_is_pending_are_told(void **state) {
    (void)state;
    fill_with(HALF);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    drop(0, a);
    fixture_synchronize(a);
    simulated_work(b);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    drop(1, b);
    refuse(EXTENT, a, poolMallocNoInsertedWaits | poolMallocNoGrowth);
    advises("HostWaitMax lets an allocation wait for what is pending");
    simulated_finish(b);
    assert_non_null(fixture_malloc(pool, EXTENT, a)); // which is what it would wait for
}

static void so_are_neighbours_among_pages(void **state) {
    (void)state;
    enum { COUNT = POOL / KIB(32), EACH = MIB(2) / KIB(32) };
    static void *small[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        small[i] = fixture_malloc(pool, KIB(32), a);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    for (size_t i = 0; i < EACH; i++)
        fixture_free(small[i], a);
    fixture_synchronize(a);
    simulated_work(b);
    for (size_t i = EACH; i < 2 * EACH; i++)
        fixture_free(small[i], b);
    assert_done(sp_mark_record(fixture_stream(b)));
    refuse(MIB(3), a, poolMallocNoInsertedWaits | poolMallocNoGrowth);
    advises("HostWaitMax lets an allocation wait for what is pending");
    simulated_finish(b);
    assert_non_null(fixture_malloc(pool, MIB(3), a));
}

static void pending_memory_that_new_memory_would_continue_is_told(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    fixture_malloc(pool, MIB(40), a);
    fixture_free(fixture_malloc(pool, MIB(16), a), a);
    fixture_synchronize(a);
    fixture_malloc(pool, MIB(8), a);
    free_behind_work(fixture_malloc(pool, MIB(8), b), b, 0);
    refuse(MIB(12), a, poolMallocNoInsertedWaits);
    advises("HostWaitMax lets an allocation wait for what is pending");
    simulated_finish(b);
    assert_non_null(fixture_malloc(pool, MIB(12), a));
}

// Two halves of each extent are free, though not to the same streams.
static void pieces_that_share_an_extent_that_nobody_uses_are_not_pinned(void **state) {
    (void)state;
    fill_with(HALF);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    for (size_t i = 0; i < HALVES; i++)
        drop(i, i % 2 == 0 ? a : b);
    refuse(MIB(32), b, poolMallocNoInsertedWaits);
    says(
        "in use 0 bytes of 64.0 MiB reserved, free here 32.0 MiB (largest piece 2.0 MiB), pending "
        "32.0 MiB");
    says("unfenced 0 bytes, pinned in pieces 0 bytes");
    advises("HostWaitMax lets an allocation wait for what is pending");
    fixture_synchronize(a);
    assert_non_null(fixture_malloc(pool, MIB(32), b)); // which is what it would wait for
}

// Likewise with what no event stands behind. Only a block that is in use pins the rest.
static void the_gauge_counts_what_is_pinned_by_extents(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    fill_with(HALF);
    simulated_work(a);
    simulated_work(c);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    drop(0, a);
    drop(2, a);
    drop(4, a);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(512));
    drop(1, c);
    drop(3, b);
    fixture_synchronize(b);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), HALF);
    drop(5, c);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), 0);
}

static void pinning(uint64_t pinning_blocks, uint64_t bytes, uint64_t largest) {
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinningBlocks), pinning_blocks);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinningBytes), bytes);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestPinning), largest);
}

// What lies in an extent that is mostly in use doesn't count, nor a block twice that pins two.
static void the_blocks_that_pin_are_counted_in_extents_of_which_half_is_free(void **state) {
    (void)state;
    fill_with(HALF);
    pinning(0, 0, 0);
    drop(0, a);
    pinning(1, HALF, HALF);
    drop(5, a);
    drop(6, a);
    pinning(3, 3 * HALF, HALF);
    blocks[5] = fixture_malloc(pool, EXTENT, a); // from the middle of one extent to that of another
    pinning(1, HALF, HALF);
    drop(4, a);
    drop(7, a);
    pinning(2, EXTENT + HALF, EXTENT);
    void *small = fixture_malloc(pool, HALF / 2, a); // three quarters of an extent are in use then
    assert_true(fixture_attribute(pool, poolMemPoolStatPinningBlocks) <= 2);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatPinnedBytes), 3 * HALF - HALF / 2);
    fixture_free(small, a);
    drop(1, a); // nothing is left that pins that extent
    pinning(1, EXTENT, EXTENT);
}

static void a_slab_pins_as_one(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    uint64_t pages = 0;
    for (int i = 0; i < 10; i++)
        fixture_malloc(other, 1000, a);
    assert_int_equal(fixture_attribute(other, poolMemPoolStatPinningBlocks), 1);
    pages = fixture_attribute(other, poolMemPoolStatPinningBytes);
    assert_int_equal(pages % SP_PAGE_SIZE, 0);
    assert_int_equal(fixture_attribute(other, poolMemPoolStatLargestPinning), pages);
    assert_int_equal(fixture_attribute(other, poolMemPoolStatPinnedBytes),
                     fixture_reserved(other) - pages);
}

// To free them would be of no use where they keep less.
static void what_pins_is_told_where_it_keeps_as_much_as_is_lacking(void **state) {
    (void)state;
    fill_with(HALF);
    drop(HALVES - 1, a);
    refuse(MIB(24), a, 0);
    does_not_say("from being put together");
    refuse(EXTENT, a, poolMallocNoGrowth);
    says(
        "; 2.0 MiB of blocks in use (1, the largest 2.0 MiB) keep 2.0 MiB from being put together");
}

static void of_what_is_not_fixed_whole_extents_alone_are_free_to_a_fixed_block(void **state) {
    (void)state;
    fill_with(HALF);
    for (size_t i = 0; i < HALVES; i += 2)
        drop(i, a);
    drop(1, a);
    refuse(MIB(8), a, poolMallocFixed);
    says(
        "free here 4.0 MiB (largest piece 0 bytes), pending 0 bytes, unfenced 0 bytes, pinned in "
        "pieces 30.0 MiB");
}

static void *fixed_block(size_t size) {
    void *pointer = NULL;
    poolError_t error = poolMallocAsyncWithFlags(&pointer, size, pool, a, poolMallocFixed);
    assert_int_equal(error, poolSuccess);
    return pointer;
}

// All of the pool is one extent that nobody uses.
static void leave_one_fixed_extent(void) {
    fixture_free(fixed_block(POOL), a);
    fixture_synchronize(a);
}

// What is left of a fixed extent serves other requests, too.
static void what_is_left_of_a_fixed_extent_is_free_to_any_block(void **state) {
    (void)state;
    leave_one_fixed_extent();
    fixed_block(MIB(8));
    refuse(MIB(60), b, 0);
    says(
        "to grow by 60.0 MiB would take the pool beyond its limit of 64.0 MiB; in use 8.0 MiB of "
        "64.0 MiB reserved, free here 56.0 MiB (largest piece 56.0 MiB), pending 0 bytes, unfenced "
        "0 bytes, pinned in pieces 56.0 MiB");
    advises("a pool with a maxSize that is larger by 60.0 MiB has room for it");
    assert_non_null(fixture_malloc(pool, MIB(56), b)); // the largest piece
    refuse(100, b, 0);
    says("free here 0 bytes (largest piece 0 bytes)");
}

// Two pieces of it are no help, for what is fixed isn't put together.
static void pieces_of_a_fixed_extent_are_in_pieces(void **state) {
    (void)state;
    leave_one_fixed_extent();
    void *first = fixed_block(MIB(16));
    void *second = fixed_block(MIB(16));
    fixture_free(first, a);
    fixture_synchronize(a);
    refuse(MIB(40), b, 0);
    says("free here 48.0 MiB (largest piece 32.0 MiB)");
    advises("a pool with a maxSize that is larger by 40.0 MiB has room for it");
    fixture_free(second, a);
    fixture_synchronize(a);
    assert_non_null(fixture_malloc(pool, MIB(40), b)); // as it was said
}

static void what_is_pending_of_a_fixed_extent_is_had_by_waiting_for_it(void **state) {
    (void)state;
    leave_one_fixed_extent();
    fixed_block(POOL / 2);
    free_behind_work(fixed_block(POOL / 2), a, 0);
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    refuse(MIB(24), b, 0);
    says("free here 0 bytes (largest piece 0 bytes), pending 32.0 MiB (32.0 MiB behind stream");
    advises("ReuseAllowInternalDependencies lets the stream wait for what is pending");
    fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 1);
    assert_non_null(fixture_malloc(pool, MIB(24), b));
}

// The call forbids to grow, and nothing else does.
static void pieces_of_a_pool_that_could_grow_are_not_the_last_word(void **state) {
    (void)state;
    const size_t sizes[] = {MIB(4), MIB(6), MIB(2), MIB(6), MIB(2), MIB(6), MIB(6)};
    poolMemPool_t second = fixture_pool();
    void *pointer = NULL;
    fixture_free(fixture_malloc(second, MIB(32), a), a);
    fixture_synchronize(a);
    for (size_t i = 0; i < 7; i++) // in the one extent
        blocks[i] = fixture_malloc(second, sizes[i], a);
    for (size_t i = 1; i < 6; i += 2)
        drop(i, a);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(16), second, a, poolMallocNoGrowth),
                     poolErrorMemoryAllocation);
    advises("poolMemPoolPrime takes memory from the device ahead of need");
    assert_int_equal(poolMemPoolPrime(second, MIB(16)), poolSuccess);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(16), second, a, poolMallocNoGrowth),
                     poolSuccess); // as it was said
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(pinned_pieces_are_told_and_that_a_larger_limit_helps_or_nothing_but_freeing),
        TEST(pieces_that_could_be_mapped_side_by_side_are_told),
        TEST(pages_that_could_be_mapped_side_by_side_are_told),
        TEST(pages_that_could_be_waited_for_are_told),
        TEST(pieces_that_lack_what_another_pool_keeps_are_told),
        TEST(pending_pieces_that_lack_what_another_pool_keeps_are_told),
        TEST(a_fixed_block_that_only_pieces_are_left_for_is_told),
        TEST(a_small_fixed_block_is_told_of_a_piece_of_a_page),
        TEST(where_no_slab_has_room_a_small_block_is_loose),
        TEST(a_small_block_waits_on_the_host_once_and_for_no_slab_beside_a_free_page),
        TEST(a_fixed_block_has_no_use_for_pinned_pieces),
        TEST(a_request_that_may_not_grow_beyond_the_limit_is_told_of_that),
        TEST(a_larger_limit_counts_what_can_be_given_back),
        TEST(so_it_does_what_the_stream_would_wait_for),
        TEST(neighbours_of_which_one_is_pending_are_told),
        TEST(so_are_neighbours_among_pages),
        TEST(pending_memory_that_new_memory_would_continue_is_told),
        TEST(pieces_that_share_an_extent_that_nobody_uses_are_not_pinned),
        TEST(the_blocks_that_pin_are_counted_in_extents_of_which_half_is_free),
        TEST(a_slab_pins_as_one),
        TEST(what_pins_is_told_where_it_keeps_as_much_as_is_lacking),
        TEST(the_gauge_counts_what_is_pinned_by_extents),
        TEST(of_what_is_not_fixed_whole_extents_alone_are_free_to_a_fixed_block),
        TEST(what_is_left_of_a_fixed_extent_is_free_to_any_block),
        TEST(pieces_of_a_fixed_extent_are_in_pieces),
        TEST(what_is_pending_of_a_fixed_extent_is_had_by_waiting_for_it),
        TEST(pieces_of_a_pool_that_could_grow_are_not_the_last_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
