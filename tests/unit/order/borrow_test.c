#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/borrow.h"
#include "order/remember.h"
#include "unit/order/known.h"
#include "unit/stepping.h"

// A stream that one thread borrows and another one is about to destroy. The borrower runs step by
// step, and after one of its instructions the other thread does all that it can: it goes on, or
// waits for the borrower.

static struct {
    struct sp_stream *stream;
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
        sp_remember_forget_handle(both.stream->handle, both.stream);
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
    sp_remember_stream(both.stream, both.stream->handle);
    step_through(borrow, take_step);
    return both.borrowed;
}

static void a_stream_is_borrowed_or_destroyed_but_not_both(void **state) {
    (void)state;
    int rounds[GOES_ON + 1] = {0};
    require_stepping();
    both.stream = known_stream();
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stream_is_borrowed_or_destroyed_but_not_both,
                                        simulated_setup, simulated_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
