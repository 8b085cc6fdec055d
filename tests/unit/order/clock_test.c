#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "order/clock.h"
#include "unit/random.h"

enum { SLOTS = 40 };

static struct sp_clock clock;
static struct sp_clock other;

static int clear(void **state) {
    (void)state;
    sp_clock_clear(&clock);
    sp_clock_clear(&other);
    return 0;
}

static bool raise_entry(struct sp_clock *of, uint32_t slot, uint64_t sequence) {
    return sp_clock_raise(of, (struct sp_fence){slot, sequence});
}

static void assert_sorted(const struct sp_clock *of) {
    assert_true(of->count <= of->capacity);
    for (uint32_t i = 1; i < of->count; i++)
        assert_true(of->entries[i - 1].slot < of->entries[i].slot);
}

static void an_empty_clock_runs_after_nothing(void **state) {
    (void)state;
    assert_int_equal(sp_clock_at(&clock, 0), 0);
    assert_int_equal(sp_clock_at(&clock, UINT32_MAX), 0);
}

static void an_entry_is_raised_and_never_lowered(void **state) {
    (void)state;
    assert_true(raise_entry(&clock, 3, 7));
    assert_int_equal(sp_clock_at(&clock, 3), 7);
    assert_true(raise_entry(&clock, 3, 6));
    assert_int_equal(sp_clock_at(&clock, 3), 7);
    assert_true(raise_entry(&clock, 3, 8));
    assert_int_equal(sp_clock_at(&clock, 3), 8);
    assert_int_equal(sp_clock_at(&clock, 2), 0);
    assert_int_equal(sp_clock_at(&clock, 4), 0);
    assert_int_equal(clock.count, 1);
}

static void a_join_takes_the_later_of_each_entry(void **state) {
    (void)state;
    raise_entry(&clock, 1, 5);
    raise_entry(&clock, 2, 5);
    raise_entry(&other, 2, 9);
    raise_entry(&other, 1, 3);
    raise_entry(&other, 0, 1);
    assert_true(sp_clock_join(&clock, &other));
    assert_int_equal(sp_clock_at(&clock, 0), 1);
    assert_int_equal(sp_clock_at(&clock, 1), 5);
    assert_int_equal(sp_clock_at(&clock, 2), 9);
    assert_int_equal(sp_clock_at(&other, 1), 3);
    assert_sorted(&clock);
}

static void a_copy_has_what_the_clock_had_and_gets_no_later_entry(void **state) {
    (void)state;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        raise_entry(&clock, slot, slot + 1);
    assert_true(sp_clock_copy(&other, &clock));
    raise_entry(&clock, 3, 100);
    raise_entry(&clock, SLOTS, 100);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        assert_int_equal(sp_clock_at(&other, slot), slot + 1);
    assert_int_equal(sp_clock_at(&other, SLOTS), 0);
}

static void a_copy_of_nothing_is_empty(void **state) {
    (void)state;
    assert_true(sp_clock_copy(&other, &clock));
    assert_int_equal(other.count, 0);
}

static bool is_odd(struct sp_fence fence) {
    return fence.sequence % 2 != 0;
}

static void pruning_drops_what_is_gone_and_keeps_the_rest_in_order(void **state) {
    (void)state;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        raise_entry(&clock, slot, slot + 1);
    sp_clock_prune(&clock, is_odd);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        assert_int_equal(sp_clock_at(&clock, slot), slot % 2 ? slot + 1 : 0);
    assert_int_equal(clock.count, SLOTS / 2);
    assert_sorted(&clock);
    assert_true(raise_entry(&clock, 4, 9));
    assert_int_equal(sp_clock_at(&clock, 4), 9);
}

// What fails changes nothing, and what succeeded before stays.
static void without_host_memory_a_clock_says_less_and_nothing_wrong(void **state) {
    (void)state;
    uint64_t failed = 0;
    host_memory_enter(1, true);
    assert_false(raise_entry(&clock, 1, 1));
    host_memory_leave(&failed);
    assert_int_equal(clock.count, 0);
    for (uint32_t slot = 0; slot < 8; slot++)
        raise_entry(&clock, slot, 2);
    for (uint32_t slot = 4; slot < 16; slot++)
        raise_entry(&other, slot, 3);
    host_memory_enter(1, true);
    bool joined = sp_clock_join(&clock, &other);
    host_memory_leave(&failed);
    assert_false(joined);
    assert_sorted(&clock);
    for (uint32_t slot = 0; slot < 16; slot++)
        assert_true(sp_clock_at(&clock, slot) == (slot < 4 ? 2 : slot < 8 ? 3 : 0));
    struct sp_clock copy = {0, 0, NULL};
    host_memory_enter(1, true);
    bool copied = sp_clock_copy(&copy, &other);
    host_memory_leave(&failed);
    assert_false(copied);
    assert_int_equal(copy.count, 0);
}

static void a_clock_is_the_maximum_of_all_it_was_told(void **state) {
    (void)state;
    uint64_t expected[SLOTS] = {0};
    uint64_t seed = 5;
    for (int step = 0; step < 2000; step++) {
        uint32_t slot = (uint32_t)random_below(&seed, SLOTS);
        uint64_t sequence = 1 + random_below(&seed, 1000);
        struct sp_clock *into = random_below(&seed, 4) ? &clock : &other;
        assert_true(raise_entry(into, slot, sequence));
        if (expected[slot] < sequence)
            expected[slot] = sequence;
    }
    assert_true(sp_clock_join(&clock, &other));
    assert_sorted(&clock);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        assert_int_equal(sp_clock_at(&clock, slot), expected[slot]);
}

static void a_walk_tells_of_rising_slots_what_a_search_tells(void **state) {
    (void)state;
    for (uint32_t slot = 1; slot < SLOTS; slot += slot % 3 + 1)
        raise_entry(&clock, slot, slot + 100);
    for (uint32_t step = 1; step < SLOTS; step++) {
        struct sp_clock_walk walk = {.clock = &clock};
        for (uint32_t slot = step % 2; slot < SLOTS + 2; slot += step) {
            assert_int_equal(sp_clock_walk_to(&walk, slot), sp_clock_at(&clock, slot));
            assert_int_equal(sp_clock_walk_to(&walk, slot), sp_clock_at(&clock, slot));
        }
    }
    struct sp_clock_walk empty = {.clock = &other};
    assert_int_equal(sp_clock_walk_to(&empty, 0), 0);
}

#define clock_test(function) cmocka_unit_test_teardown(function, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        clock_test(an_empty_clock_runs_after_nothing),
        clock_test(an_entry_is_raised_and_never_lowered),
        clock_test(a_join_takes_the_later_of_each_entry),
        clock_test(a_copy_has_what_the_clock_had_and_gets_no_later_entry),
        clock_test(a_copy_of_nothing_is_empty),
        clock_test(pruning_drops_what_is_gone_and_keeps_the_rest_in_order),
        clock_test(without_host_memory_a_clock_says_less_and_nothing_wrong),
        clock_test(a_clock_is_the_maximum_of_all_it_was_told),
        clock_test(a_walk_tells_of_rising_slots_what_a_search_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
