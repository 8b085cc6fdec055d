#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/play/threads.h"

enum { OPERATIONS = 5000, THREADS = 4000 };

static void each_operation_is_its_threads_in_the_order_of_the_trace(void **state) {
    (void)state;
    struct sp_trace_operation operations[] = {{.thread = 0}, {.thread = 1}, {.thread = 0},
                                              {.thread = 2}, {.thread = 1}, {.thread = 0}};
    static const size_t expected[] = {0, 2, 5, 1, 4, 3}, begins[] = {0, 3, 5, 6};
    struct sp_trace trace = {.operations = operations, .operation_count = 6, .thread_count = 3};
    struct sp_shares shares;
    assert_true(sp_shares_open(&shares, &trace));
    assert_memory_equal(shares.operations, expected, sizeof expected);
    assert_memory_equal(shares.begins, begins, sizeof begins);
    sp_shares_release(&shares);
}

// So that threads who walk over their own walk over the trace once, all together.
static void all_shares_together_are_the_trace_however_many_there_are(void **state) {
    (void)state;
    static struct sp_trace_operation operations[OPERATIONS];
    for (uint32_t i = 0; i < OPERATIONS; i++)
        operations[i].thread = i * 7 % THREADS;
    struct sp_trace trace = {
        .operations = operations, .operation_count = OPERATIONS, .thread_count = THREADS};
    struct sp_shares shares;
    assert_true(sp_shares_open(&shares, &trace));
    assert_int_equal(shares.begins[THREADS], OPERATIONS);
    for (uint32_t thread = 0; thread < THREADS; thread++)
        for (size_t i = shares.begins[thread]; i < shares.begins[thread + 1]; i++)
            assert_int_equal(operations[shares.operations[i]].thread, thread);
    sp_shares_release(&shares);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_is_its_threads_in_the_order_of_the_trace),
        cmocka_unit_test(all_shares_together_are_the_trace_however_many_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
