#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/list.h"
#include "simcuda/queue/history.h"

static struct sim_history history;
static struct sim_touch other;

static int begin(void **state) {
    (void)state;
    history = (struct sim_history){0};
    return 0;
}

static int end(void **state) {
    (void)state;
    sim_history_destroy(&history);
    return 0;
}

static struct sim_touch by(size_t slot, uint64_t sequence, bool writes) {
    return (struct sim_touch){.slot = slot, .sequence = sequence, .writes = writes};
}

static bool write_bytes(size_t slot, uint64_t sequence, uint64_t first, uint64_t last,
                        const struct sim_clock *clock) {
    struct sim_touch touch = by(slot, sequence, true);
    return sim_history_touch(&history, first, last, &touch, clock, &other);
}

static bool read_bytes(size_t slot, uint64_t sequence, uint64_t first, uint64_t last,
                       const struct sim_clock *clock) {
    struct sim_touch touch = by(slot, sequence, false);
    return sim_history_touch(&history, first, last, &touch, clock, &other);
}

static const struct sim_segment *segment_of(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, const struct sim_segment, node) : NULL;
}

static void require_sound(void) {
    size_t count = 0;
    uint64_t last_end = 0;
    for (const struct sim_segment *segment = segment_of(sp_tree_first(&history.segments)); segment;
         segment = segment_of(sp_tree_next(&segment->node))) {
        assert_true(segment->begin < segment->end && segment->begin >= last_end);
        last_end = segment->end;
        count++;
    }
    assert_int_equal(count, history.count);
}

static void two_writes_of_a_byte_with_no_order_race(void **state) {
    (void)state;
    assert_true(write_bytes(0, 4, 100, 200, NULL));
    assert_false(write_bytes(1, 1, 199, 300, NULL));
    assert_int_equal(other.slot, 0);
    assert_int_equal(other.sequence, 4);
    require_sound();
}

static void neighbours_do_not_race(void **state) {
    (void)state;
    assert_true(write_bytes(0, 1, 100, 200, NULL));
    assert_true(write_bytes(1, 1, 200, 300, NULL));
    assert_true(write_bytes(2, 1, 0, 100, NULL));
    require_sound();
    assert_int_equal(history.count, 3);
}

static void a_clock_that_holds_the_write_orders_it(void **state) {
    struct sim_clock *clock = NULL;
    (void)state;
    sim_clock_raise(&clock, 0, 4);
    assert_true(write_bytes(0, 4, 0, 10, NULL));
    assert_true(write_bytes(1, 1, 0, 10, clock));
    assert_true(write_bytes(0, 5, 20, 30, NULL));
    assert_false(write_bytes(1, 2, 20, 30, clock));
    sim_clock_drop(clock);
}

static void one_slot_is_ordered_by_itself(void **state) {
    (void)state;
    assert_true(write_bytes(0, 1, 0, 10, NULL));
    assert_true(write_bytes(0, 2, 5, 15, NULL));
    assert_true(read_bytes(0, 3, 0, 15, NULL));
}

static void reads_do_not_race_with_reads(void **state) {
    (void)state;
    assert_true(read_bytes(0, 1, 0, 10, NULL));
    assert_true(read_bytes(1, 1, 5, 15, NULL));
    assert_true(read_bytes(2, 1, 0, 15, NULL));
    require_sound();
}

static void a_write_races_with_each_read_that_it_does_not_know(void **state) {
    struct sim_clock *clock = NULL;
    (void)state;
    sim_clock_raise(&clock, 0, 1);
    assert_true(read_bytes(0, 1, 0, 10, NULL));
    assert_true(read_bytes(1, 1, 0, 10, NULL));
    assert_false(write_bytes(2, 1, 0, 10, clock));
    assert_int_equal(other.slot, 1);
    sim_clock_drop(clock);
}

static void a_read_races_with_a_write_that_it_does_not_know(void **state) {
    (void)state;
    assert_true(write_bytes(0, 1, 0, 10, NULL));
    assert_false(read_bytes(1, 1, 9, 10, NULL));
}

static void only_the_bytes_in_common_count(void **state) {
    struct sim_clock *clock = NULL;
    (void)state;
    sim_clock_raise(&clock, 1, 1);
    assert_true(write_bytes(0, 1, 0, 100, NULL));
    sim_clock_raise(&clock, 0, 1);
    assert_true(write_bytes(1, 1, 40, 60, clock));
    require_sound();
    assert_int_equal(history.count, 3);
    assert_true(write_bytes(0, 2, 0, 40, NULL));
    assert_true(write_bytes(0, 3, 60, 100, NULL));
    assert_false(write_bytes(0, 4, 39, 41, NULL));
    sim_clock_drop(clock);
}

static void a_write_over_many_pieces_leaves_one(void **state) {
    struct sim_clock *clock = NULL;
    (void)state;
    for (size_t slot = 0; slot < 10; slot++) {
        assert_true(write_bytes(slot, 1, slot * 10, slot * 10 + 5, NULL));
        assert_true(read_bytes(slot, 2, slot * 10 + 2, slot * 10 + 4, NULL));
        sim_clock_raise(&clock, slot, 2);
    }
    assert_true(write_bytes(20, 1, 0, 100, clock));
    assert_int_equal(history.count, 1);
    const struct sim_segment *all = segment_of(sp_tree_first(&history.segments));
    assert_true(all->begin == 0 && all->end == 100);
    sim_clock_drop(clock);
}

// The same as if each byte had a history of its own.
static void pieces_race_as_their_bytes_do(void **state) {
    enum { BYTES = 40, SLOTS = 3 };
    uint64_t random = 1, write[BYTES][2] = {{0}}, reads[BYTES][SLOTS] = {{0}};
    (void)state;
    for (uint64_t sequence = 1; sequence < 3000; sequence++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t slot = (random >> 60) % SLOTS, known = (slot + 1) % SLOTS;
        uint64_t first = (random >> 33) % BYTES,
                 last = first + 1 + (random >> 40) % (BYTES - first);
        bool writes = random >> 63, races = false;
        struct sim_clock *clock = NULL;
        sim_clock_raise(&clock, known, sequence - (random >> 50) % 8 % sequence);
        for (uint64_t at = first; at < last; at++) {
            races |= write[at][1] > 0 && write[at][0] != slot &&
                     sim_clock_at(clock, write[at][0]) < write[at][1];
            for (size_t i = 0; i < SLOTS; i++) {
                races |= writes && i != slot && sim_clock_at(clock, i) < reads[at][i];
                reads[at][i] = writes ? 0 : i == slot ? sequence : reads[at][i];
            }
            write[at][0] = writes ? slot : write[at][0];
            write[at][1] = writes ? sequence : write[at][1];
        }
        struct sim_touch touch = by(slot, sequence, writes);
        assert_true(sim_history_touch(&history, first, last, &touch, clock, &other) == !races);
        sim_clock_drop(clock);
        require_sound();
    }
}

static void a_question_enters_nothing(void **state) {
    (void)state;
    struct sim_clock *clock = NULL;
    assert_true(write_bytes(0, 4, 100, 200, NULL));
    assert_true(read_bytes(1, 5, 200, 300, NULL));
    assert_true(sim_history_conflicts(&history, 150, 160, false, NULL, &other));
    assert_int_equal(other.sequence, 4);
    assert_false(sim_history_conflicts(&history, 200, 300, false, NULL, &other));
    assert_true(sim_history_conflicts(&history, 299, 300, true, NULL, &other));
    assert_int_equal(other.sequence, 5);
    assert_false(sim_history_conflicts(&history, 0, 100, true, NULL, &other));
    assert_false(sim_history_conflicts(&history, 300, 400, true, NULL, &other));
    sim_clock_raise(&clock, 0, 4);
    assert_false(sim_history_conflicts(&history, 100, 200, true, clock, &other));
    sim_clock_drop(clock);
    assert_int_equal(history.count, 2);
}

static void what_a_clock_holds_can_be_forgotten(void **state) {
    (void)state;
    struct sim_clock *clock = NULL;
    assert_true(write_bytes(0, 1, 100, 200, NULL));
    assert_true(write_bytes(0, 2, 200, 300, NULL));
    assert_true(read_bytes(1, 1, 300, 400, NULL));
    sim_clock_raise(&clock, 0, 1);
    sim_history_forget_known(&history, clock);
    assert_int_equal(history.count, 2);
    require_sound();
    sim_clock_raise(&clock, 0, 2);
    sim_clock_raise(&clock, 1, 1);
    sim_history_forget_known(&history, clock);
    assert_int_equal(history.count, 0);
    sim_clock_drop(clock);
}

int main(void) {
#define HISTORY_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        HISTORY_TEST(two_writes_of_a_byte_with_no_order_race),
        HISTORY_TEST(neighbours_do_not_race),
        HISTORY_TEST(a_clock_that_holds_the_write_orders_it),
        HISTORY_TEST(one_slot_is_ordered_by_itself),
        HISTORY_TEST(reads_do_not_race_with_reads),
        HISTORY_TEST(a_write_races_with_each_read_that_it_does_not_know),
        HISTORY_TEST(a_read_races_with_a_write_that_it_does_not_know),
        HISTORY_TEST(only_the_bytes_in_common_count),
        HISTORY_TEST(a_write_over_many_pieces_leaves_one),
        HISTORY_TEST(pieces_race_as_their_bytes_do),
        HISTORY_TEST(a_question_enters_nothing),
        HISTORY_TEST(what_a_clock_holds_can_be_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
