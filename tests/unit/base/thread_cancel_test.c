#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/thread.h"

// What a thread that was asked to end has come to.
static bool in_inner, in_outer, behind;

static void be_held(void) {
    SP_UNCANCELLED;
    pthread_testcancel();
    in_inner = true;
}

static void *end_behind_the_scopes(void *unused) {
    (void)unused;
    pthread_cancel(pthread_self());
    {
        SP_UNCANCELLED;
        be_held();
        pthread_testcancel(); // what was held outside is held on
        in_outer = true;
    }
    pthread_testcancel();
    behind = true;
    return NULL;
}

static void a_thread_ends_behind_the_outermost_scope(void **state) {
    (void)state;
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, end_behind_the_scopes, NULL), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_true(in_inner && in_outer);
    assert_false(behind);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_ends_behind_the_outermost_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
