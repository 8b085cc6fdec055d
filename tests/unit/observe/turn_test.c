// Turns of the calls of a process that records a trace.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "base/lock.h"
#include "observe/turn.h"

static unsigned contended;

static void count_contended(int is_contended) {
    contended += is_contended != 0;
}

static void a_call_in_the_turn_of_its_thread_waits_for_nobody(void **state) {
    (void)state;
    bool outer = sp_turn_take();
    assert_true(outer);
    sp_lock_set_hook(count_contended);
    bool inner = sp_turn_take();
    sp_lock_set_hook(NULL);
    assert_false(inner);
    assert_int_equal(contended, 0);
    assert_false(sp_turn_take()); // it stays the outer call's
    sp_turn_give();
    bool next = sp_turn_take();
    assert_true(next);
    sp_turn_give();
}

static _Atomic bool waits;

static void note_wait(int is_contended) {
    if (is_contended)
        sp_store_release(&waits, true);
    sched_yield();
}

static void *take_turn(void *got) {
    bool taken = sp_turn_take();
    if (taken)
        sp_turn_give();
    *(bool *)got = taken;
    return NULL;
}

static void another_thread_waits_for_the_turn(void **state) {
    (void)state;
    pthread_t thread;
    bool got = false, mine = sp_turn_take();
    assert_true(mine);
    sp_lock_set_hook(note_wait);
    assert_int_equal(pthread_create(&thread, NULL, take_turn, &got), 0);
    while (!sp_load_acquire(&waits))
        sched_yield();
    sp_turn_give();
    assert_int_equal(pthread_join(thread, NULL), 0);
    sp_lock_set_hook(NULL);
    assert_true(got);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_in_the_turn_of_its_thread_waits_for_nobody),
        cmocka_unit_test(another_thread_waits_for_the_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
