// What goes through a front: the blocks that a thread frees and takes again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "order/mark.h"
#include "region/front.h"
#include "unit/fixture/crowded.h"

static void a_front_gives_out_again_what_was_freed_into_it(void **state) {
    (void)state;
    void *block = block_in_front(KIB(4));
    uint64_t hits = fixture_attribute(pool, poolMemPoolStatReuseSameStream);
    uint64_t holds = crowded->holds;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fixture_used(pool), 0);
        assert_ptr_equal(take(KIB(4)), block);
        assert_int_equal(fixture_used(pool), KIB(4));
        assert_int_equal(in_fronts(), 0);
        put(block);
        fixture_check(pool);
    }
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), hits + 20);
    assert_int_equal(crowded->holds, holds);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), KIB(4));
}

static void a_block_in_a_front_is_free_to_who_asks(void **state) {
    (void)state;
    struct poolPointerAttributes attributes;
    void *block = block_in_front(KIB(4));
    assert_int_equal(poolPointerGetAttributes(&attributes, block), poolSuccess);
    assert_int_equal(attributes.state, poolPointerFree);
    assert_int_equal(poolFreeAsync(block, stream), poolErrorInvalidValue);
    assert_int_equal(poolFree(block), poolErrorInvalidValue);
    assert_int_equal(poolFreeAsync(block, simulated_stream()), poolErrorInvalidValue);
    assert_ptr_equal(take(KIB(4)), block);
}

static struct {
    struct sp_slab *slab;
    uint16_t index;
    int locks; // that are taken until the block is live again
} aside;

static void let_live_at_last_lock(void) {
    if (--aside.locks > 0)
        fixture_at_next_lock(let_live_at_last_lock);
    else
        sp_slab_set_live(aside.slab, aside.index, KIB(4));
}

// Another thread has claimed the block and finds that the lane has to free it.
static void a_free_that_comes_second_is_told_so(void **state) {
    (void)state;
    int refused = 0;
    block_in_front(KIB(4));
    for (int locks = 1; locks < 24; locks++) {
        void *block = take(KIB(4));
        uint64_t address = (uint64_t)(uintptr_t)block;
        aside.slab = slab_of(block);
        aside.index = sp_slab_find(aside.slab, address);
        aside.locks = locks;
        assert_true(sp_slab_claim(aside.slab, aside.index));
        fixture_at_next_lock(let_live_at_last_lock);
        poolError_t error = poolFreeAsync(block, stream);
        sp_lock_set_hook(NULL);
        if (error == poolSuccess)
            continue;
        refused++;
        assert_int_equal(error, poolErrorInvalidValue);
        assert_non_null(strstr(poolGetLastErrorDetail(), "was freed already"));
        sp_slab_set_live(aside.slab, aside.index, KIB(4));
        put(block);
    }
    assert_true(refused > 1);
    fixture_check(pool);
}

static void what_a_front_hands_out_is_covered(void **state) {
    (void)state;
    put(take(KIB(3) + 600));
    make_crowded(crowded);
    put(take(KIB(3) + 600));
    void *larger = take(KIB(4)); // of the same class: more than the lane counts for the front
    assert_int_equal(fixture_used(pool), KIB(4));
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), KIB(4));
    fixture_check(pool);
    put(larger);
    fixture_check(pool);
}

static void used_bytes_and_their_highest_sum_are_exact(void **state) {
    (void)state;
    void *blocks[100];
    block_in_front(KIB(4));
    for (int round = 0; round < 10; round++) {
        make_crowded(crowded);
        for (int i = 0; i < 100; i++) {
            blocks[i] = take((size_t)(i % 8 + 1) * 500);
            fixture_check(pool);
        }
        uint64_t used = fixture_used(pool);
        assert_int_equal(used, (12 * 36 + 10) * 500);
        assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), used);
        for (int i = 0; i < 100; i++) {
            put(blocks[i]);
            fixture_check(pool);
        }
        assert_int_equal(fixture_used(pool), 0);
    }
}

static int locks_taken;

static void count_lock(int contended) {
    (void)contended;
    locks_taken++;
}

static int locks_for_own_memory(void) {
    void *block = NULL;
    locks_taken = 0;
    sp_lock_set_hook(count_lock);
    poolError_t error =
        poolMallocAsyncWithFlags(&block, KIB(4), pool, stream, poolMallocSameStreamOnly);
    sp_lock_set_hook(NULL);
    assert_int_equal(error, poolSuccess);
    put(block);
    return locks_taken;
}

static void memory_of_the_stream_alone_is_at_hand_in_a_crowd_too(void **state) {
    (void)state;
    put(take(KIB(4)));
    int locks = locks_for_own_memory();
    make_crowded(crowded);
    assert_int_equal(locks_for_own_memory(), locks);
    fixture_check(pool);
}

static void four_powers_of_two_stand_in_a_front_together(void **state) {
    (void)state;
    block_in_front(KIB(4));
    for (size_t first = 512; first <= KIB(4); first *= 2) {
        for (int i = 0; i < 8; i++)
            put(take(first << i % 4));
        const struct sp_front *front = sp_front_of_thread(crowded);
        for (int i = 0; i < 4; i++) {
            unsigned class_index = sp_slab_class_of(first << i), found = 0;
            for (int bin = 0; bin < SP_FRONT_BINS; bin++)
                found += front->bins[bin].count > 0 && front->bins[bin].class_index == class_index;
            assert_int_equal(found, 1);
        }
    }
    fixture_check(pool);
}

static unsigned class_in_bin_of(size_t size) {
    struct sp_front *front = sp_front_of_thread(crowded);
    const struct sp_front_bin *bin = sp_front_bin_of(front, sp_slab_class_of(size));
    return bin->count > 0 ? bin->class_index : SP_CLASS_COUNT;
}

static void two_classes_of_one_place_do_not_evict_each_other_by_turns(void **state) {
    (void)state;
    unsigned small = sp_slab_class_of(512), large = sp_slab_class_of(KIB(8));
    assert_int_equal(sp_front_bin_at(small), sp_front_bin_at(large));
    put(take(512)); // a miss would empty the fronts
    block_in_front(KIB(8));
    for (int i = 0; i < 12; i++) {
        put(take(512));
        assert_int_equal(class_in_bin_of(512), large);
        put(take(KIB(8)));
    }
    for (int i = 0; i < 12; i++)
        put(take(512));
    assert_int_equal(class_in_bin_of(512), small);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

// --------------------------------------------------------------------------------- unfenced bytes

static void the_slab_of_what_is_freed_into_a_front_was_counted_under_the_number(void **state) {
    (void)state;
    enum { BLOCKS = 64 };
    void *blocks[BLOCKS];
    block_in_front(KIB(4));
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = take(KIB(4));
    assert_true(sp_is_done(sp_mark_record(crowded->stream)));
    for (int i = 0; i < BLOCKS; i++) {
        put(blocks[i]);
        assert_int_equal(slab_of(blocks[i])->last_sequence,
                         atomic_load(&crowded->unfenced_sequence));
        assert_int_not_equal(crowded->confirmed, 0);
    }
    assert_true(in_fronts() > 0);
}

static void where_each_free_records_none_goes_into_a_front(void **state) {
    (void)state;
    block_in_front(KIB(4));
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    for (int i = 0; i < 10; i++) {
        uint64_t events = fixture_attribute(pool, poolMemPoolStatEventsRecorded);
        put(take(KIB(4)));
        assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), events + 1);
    }
    assert_int_equal(in_fronts(), 0);
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

// The lane sees the first free of a slab, which isn't fronted yet. The next ones go by the fronts.
static void the_free_that_is_one_too_many_records(void **state) {
    (void)state;
    enum { BLOCKS = 1200, OF_SLAB = 16 }; // in three extents, of which one may be held
    static void *blocks[BLOCKS];
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(4));
    block_in_front(KIB(4));
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = take(KIB(4));
    assert_in_range(records_of_putting(blocks, 0, BLOCKS, OF_SLAB), 2, 4);
    assert_true(sp_is_done(sp_mark_record(crowded->stream)));
    assert_in_range(records_of_putting(blocks, 0, BLOCKS, 1), 2, 4);
    assert_true(in_fronts() > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_front_gives_out_again_what_was_freed_into_it),
        TEST(a_block_in_a_front_is_free_to_who_asks),
        TEST(a_free_that_comes_second_is_told_so),
        TEST(what_a_front_hands_out_is_covered),
        TEST(used_bytes_and_their_highest_sum_are_exact),
        TEST(memory_of_the_stream_alone_is_at_hand_in_a_crowd_too),
        TEST(four_powers_of_two_stand_in_a_front_together),
        TEST(two_classes_of_one_place_do_not_evict_each_other_by_turns),
        TEST(the_slab_of_what_is_freed_into_a_front_was_counted_under_the_number),
        TEST(where_each_free_records_none_goes_into_a_front),
        TEST(the_free_that_is_one_too_many_records),
    };
    return cmocka_run_group_tests_name("region_front", tests, NULL, NULL);
}
