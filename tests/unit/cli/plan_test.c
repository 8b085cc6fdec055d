// What is done beside the trace's own calls: how long the work is, and which stream waits.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/play/plan.h"

enum { STREAMS = 5, OPERATIONS = 1000 };

// Two allocations of bytes, one of none, one that had failed; one free at home, one foreign, one of
// a null pointer.
static struct sp_trace_block blocks[] = {
    {.size = 512}, {.size = 1024, .stream = 1}, {.size = 0}, {.size = 2048}};
static struct sp_trace_operation operations[] = {
    {.action = SP_TRACE_ALLOCATE, .block = 0},
    {.action = SP_TRACE_ALLOCATE, .block = 1, .stream = 1},
    {.action = SP_TRACE_ALLOCATE, .block = 2},
    {.action = SP_TRACE_FAILURE, .block = 3},
    {.action = SP_TRACE_FREE, .block = 0},
    {.action = SP_TRACE_FREE, .block = 1},
    {.action = SP_TRACE_FREE, .block = SP_TRACE_NO_BLOCK},
};

enum { COUNT = sizeof operations / sizeof operations[0], PIECES = 3 };

static const struct sp_trace trace = {
    .operations = operations, .operation_count = COUNT, .blocks = blocks};

static void the_pieces_together_fill_the_share_of_the_time(void **state) {
    (void)state;
    struct sp_plan plan = {.work = 0.5, .pace_ns = 6000};
    assert_int_equal(sp_plan_piece_ns(&plan, &trace), COUNT * 3000 / PIECES);
}

static void a_length_that_is_given_is_taken(void **state) {
    (void)state;
    struct sp_plan plan = {.piece_ns = 777, .pace_ns = 6000};
    assert_int_equal(sp_plan_piece_ns(&plan, &trace), 777);
    assert_true(sp_plan_has_work(&plan));
}

static void a_trace_with_no_use_for_work_has_none(void **state) {
    (void)state;
    struct sp_plan plan = {.work = 0.9, .pace_ns = 6000};
    struct sp_trace empty = {
        .operations = operations + COUNT - 1, .operation_count = 1, .blocks = blocks};
    assert_int_equal(sp_plan_piece_ns(&plan, &empty), 0);
}

static void a_plan_has_no_work_events_or_synchronise_by_default(void **state) {
    (void)state;
    struct sp_plan plan = SP_PLAN_DEFAULT;
    assert_false(sp_plan_has_work(&plan));
    for (size_t i = 0; i < OPERATIONS; i++) {
        assert_false(sp_plan_is_due(plan.events, i));
        assert_false(sp_plan_is_due(plan.synchronize, i));
    }
}

static void what_is_due_is_due_behind_every_so_many_operations(void **state) {
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++)
        assert_int_equal(sp_plan_is_due(4, i), i % 4 == 3);
}

static void the_stream_that_waits_is_another_one_and_each_has_its_turn(void **state) {
    (void)state;
    struct sp_plan plan = {.seed = 1};
    unsigned turns[STREAMS] = {0};
    for (size_t i = 0; i < OPERATIONS; i++) {
        uint32_t waiter = sp_plan_waiter(&plan, i, 2, STREAMS);
        assert_true(waiter < STREAMS);
        assert_int_not_equal(waiter, 2);
        turns[waiter]++;
    }
    for (size_t stream = 0; stream < STREAMS; stream++)
        assert_true(stream == 2 || turns[stream] > OPERATIONS / STREAMS / 2);
}

static void of_two_streams_the_other_one_waits(void **state) {
    (void)state;
    struct sp_plan plan = {.seed = 1};
    for (size_t i = 0; i < OPERATIONS; i++)
        assert_int_equal(sp_plan_waiter(&plan, i, i % 2, 2), 1 - i % 2);
}

static void the_draw_depends_on_the_seed_and_the_operation_alone(void **state) {
    (void)state;
    struct sp_plan plan = {.seed = 1}, other = {.seed = 2};
    size_t differences = 0;
    for (size_t i = 0; i < OPERATIONS; i++) {
        assert_int_equal(sp_plan_waiter(&plan, i, 0, STREAMS),
                         sp_plan_waiter(&plan, i, 0, STREAMS));
        differences +=
            sp_plan_waiter(&plan, i, 0, STREAMS) != sp_plan_waiter(&other, i, 0, STREAMS);
    }
    assert_true(differences > OPERATIONS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pieces_together_fill_the_share_of_the_time),
        cmocka_unit_test(a_length_that_is_given_is_taken),
        cmocka_unit_test(a_trace_with_no_use_for_work_has_none),
        cmocka_unit_test(a_plan_has_no_work_events_or_synchronise_by_default),
        cmocka_unit_test(what_is_due_is_due_behind_every_so_many_operations),
        cmocka_unit_test(the_stream_that_waits_is_another_one_and_each_has_its_turn),
        cmocka_unit_test(of_two_streams_the_other_one_waits),
        cmocka_unit_test(the_draw_depends_on_the_seed_and_the_operation_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
