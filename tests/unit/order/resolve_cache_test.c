#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/resolve.h"
#include "unit/order/known.h"
#include "unit/stepping.h"

// A stream that one thread borrows and another one is about to destroy. The borrower runs step by
// step, and after one of its instructions the other thread does all that it can: it goes on, or
// waits for the borrower.

static struct {
    struct sp_stream *stream;
    struct sp_stream *told; // what the destroyer is told of it: the stream, or null
    bool borrowed;
    volatile sig_atomic_t steps; // of the borrower, until it is the destroyer's turn
    volatile enum { HAS_NO_TURN, WAITS, GOES_ON } destroyer;
    sigjmp_buf waits;
} both;

static void wait_in_vain(int contended) {
    if (contended)
        siglongjmp(both.waits, 1);
}

static void be_about_to_destroy(void) {
    both.destroyer = WAITS;
    sp_lock_set_hook(wait_in_vain);
    if (sigsetjmp(both.waits, 0) == 0) {
        sp_stream_cache_forget_handle(both.stream->handle, both.told);
        both.destroyer = GOES_ON;
    }
    sp_lock_set_hook(NULL);
}

static bool take_step(void) {
    if (both.steps-- == 0)
        be_about_to_destroy();
    return both.steps >= 0;
}

static void borrow(void) {
    both.borrowed = sp_borrow_stream(both.stream, NULL, true);
}

static bool borrow_with_destroyer_after(int steps) {
    both.steps = steps;
    both.destroyer = HAS_NO_TURN;
    sp_stream_cache_add(both.stream, both.stream->handle);
    step_through(borrow, take_step);
    return both.borrowed;
}

static void require_one_or_the_other(void) {
    int rounds[GOES_ON + 1] = {0};
    for (int steps = 0; rounds[HAS_NO_TURN] == 0; steps++) {
        bool borrowed = borrow_with_destroyer_after(steps);
        assert_false(borrowed && both.destroyer == GOES_ON);
        if (borrowed)
            sp_borrow_end(both.stream);
        assert_int_equal(atomic_load(&both.stream->handle_use.borrowers), 0);
        rounds[both.destroyer]++;
    }
    assert_true(rounds[WAITS] > 0 && rounds[GOES_ON] > 0);
}

static void a_stream_is_borrowed_or_destroyed_but_not_both(void **state) {
    (void)state;
    require_stepping();
    both.stream = known_stream();
    both.told = both.stream;
    require_one_or_the_other();
}

static void so_it_is_where_the_destroyer_knows_the_handle_alone(void **state) {
    (void)state;
    require_stepping();
    both.stream = known_stream();
    both.told = NULL;
    require_one_or_the_other();
}

// A thread that says that a context has ended makes all forget the handles of its streams, and
// waits for borrowers. Another one may destroy such a stream meanwhile.
static void a_borrower_is_awaited_by_each_who_forgets_the_handle(void **state) {
    (void)state;
    both.stream = known_stream();
    both.told = NULL;
    sp_stream_cache_add(both.stream, both.stream->handle);
    assert_true(sp_borrow_stream(both.stream, NULL, true));
    be_about_to_destroy();
    assert_int_equal(both.destroyer, WAITS);
    be_about_to_destroy();
    assert_int_equal(both.destroyer, WAITS);
    sp_borrow_end(both.stream);
    be_about_to_destroy();
    assert_int_equal(both.destroyer, GOES_ON);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stream_is_borrowed_or_destroyed_but_not_both,
                                        simulated_setup, simulated_teardown),
        cmocka_unit_test_setup_teardown(so_it_is_where_the_destroyer_knows_the_handle_alone,
                                        simulated_setup, simulated_teardown),
        cmocka_unit_test_setup_teardown(a_borrower_is_awaited_by_each_who_forgets_the_handle,
                                        simulated_setup, simulated_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
