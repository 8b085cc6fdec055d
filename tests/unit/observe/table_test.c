// The observer's side of the two tables.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/lock.h"
#include "process/observe_table.h"

static void nothing_is_observed_for_a_library_of_another_build(void **state) {
    (void)state;
    const struct sp_observe_host same = {.stamp = SP_OBSERVE_STAMP(same)};
    struct sp_observe_host other = same;
    uint32_t *const parts[] = {&other.stamp.release,     &other.stamp.size,
                               &other.stamp.stream_size, &other.stamp.figures_size,
                               &other.stamp.pool_size,   &other.stamp.options_size,
                               &other.stamp.actions};
    assert_non_null(sp_observe_table(&same));
    for (int i = 0; i < 7; i++) {
        ++*parts[i];
        assert_null(sp_observe_table(&other));
        --*parts[i];
    }
}

static void pass(int is_contended) {
    (void)is_contended;
}

static void the_observers_locks_have_the_librarys_hook(void **state) {
    (void)state;
    const struct sp_observe_host host = {.stamp = SP_OBSERVE_STAMP(host), .lock_hook = pass};
    assert_non_null(sp_observe_table(&host));
    assert_true(sp_lock_hook() == pass);
    sp_lock_set_hook(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_observed_for_a_library_of_another_build),
        cmocka_unit_test(the_observers_locks_have_the_librarys_hook),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
