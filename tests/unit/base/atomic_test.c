#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/atomic.h"

enum { THREADS = 4, ROUNDS = 20000 };

static _Atomic uint64_t number;

static void additions_and_subtractions_return_the_number_from_before(void **state) {
    (void)state;
    sp_store_relaxed(&number, 5);
    assert_int_equal(sp_add_relaxed(&number, 3), 5);
    assert_int_equal(sp_subtract_relaxed(&number, 2), 8);
    assert_int_equal(sp_load_relaxed(&number), 6);
}

static void a_number_is_raised_and_never_lowered(void **state) {
    (void)state;
    sp_store_release(&number, 7);
    sp_atomic_raise(&number, 6);
    assert_int_equal(sp_load_acquire(&number), 7);
    sp_atomic_raise(&number, UINT64_MAX);
    assert_int_equal(sp_load_acquire(&number), UINT64_MAX);
}

// The threads raise the number in turns, each to other values, so that a store that looks only once
// would lower it.
static void *raise_often(void *first) {
    uint64_t last = *(uint64_t *)first;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        sp_atomic_raise(&number, last);
        if (sp_load_acquire(&number) < last)
            return first;
        last += THREADS;
    }
    return NULL;
}

static void threads_that_raise_a_number_leave_the_largest(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    uint64_t first[THREADS];
    void *lowered = NULL;
    sp_store_release(&number, 0);
    for (int i = 0; i < THREADS; i++) {
        first[i] = (uint64_t)i;
        assert_int_equal(pthread_create(&threads[i], NULL, raise_often, &first[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &lowered), 0);
        assert_null(lowered);
    }
    assert_int_equal(sp_load_acquire(&number), (uint64_t)THREADS * ROUNDS - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(additions_and_subtractions_return_the_number_from_before),
        cmocka_unit_test(a_number_is_raised_and_never_lowered),
        cmocka_unit_test(threads_that_raise_a_number_leave_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
